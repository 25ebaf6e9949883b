// Link libfathom from FATHOM_LIB_DIR if set, otherwise from the linker's search path.
fn main() {
    println!("cargo:rerun-if-env-changed=FATHOM_LIB_DIR");
    if let Ok(dir) = std::env::var("FATHOM_LIB_DIR") {
        println!("cargo:rustc-link-search=native={dir}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
    }
    println!("cargo:rustc-link-lib=dylib=fathom");
}
