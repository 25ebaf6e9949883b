/* sym_rust.h - Rust's two manglings, taken apart.  Input is untrusted: depth, work and output
 * are bounded.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_RUST_H
#define FATHOM_SYMBOL_SYM_RUST_H

/* `_ZN3foo3bar17h0123456789abcdefE`; malloc'd, or NULL when NAME is not one. */
char *sym_rust_legacy(const char *name);
/* `_RNvCs1234_3foo3bar`; malloc'd, or NULL when NAME is not one. */
char *sym_rust_v0(const char *name);

#endif
