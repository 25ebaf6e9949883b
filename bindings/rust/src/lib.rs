//! Zones, operations and counters of libfathom.  `fathom.h` documents each call.
//!
//! ```no_run
//! fathom::enable();
//! {
//!     fathom::zone!("step");
//!     fathom::count!("items", 3.0);
//! }
//! println!("{}", fathom::report(fathom::Format::Table));
//! ```
//!
//! Measuring starts with [`enable`] or with the environment variable `FATHOM_PROFILE`.  A zone
//! then costs two clock reads.  Zones must end in reverse order, on the thread that began them;
//! therefore [`Zone`] is not `Send`.

use std::ffi::CString;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

#[repr(C)]
#[derive(Clone, Copy)]
struct RawZone {
    node: *mut c_void,
    start: u64,
}

#[repr(C)]
struct RawOp {
    zone: RawZone,
    bytes: u64,
    work: u64,
    tag: u64,
}

extern "C" {
    fn fathom_enable() -> c_int;
    fn fathom_disable();
    fn fathom_clear();
    fn fathom_mode(pattern: *const c_char, mode: c_int) -> c_int;
    fn fathom_thread_name(name: *const c_char);
    fn fathom_site_get(
        name: *const c_char,
        group: *const c_char,
        file: *const c_char,
        line: u32,
        kind: c_int,
    ) -> *mut c_void;
    fn fathom_begin_(site: *mut c_void) -> RawZone;
    fn fathom_end_(zone: *mut RawZone);
    fn fathom_op_begin_(site: *mut c_void, bytes: u64, backend: *const c_char) -> RawOp;
    fn fathom_op_end_(op: *mut RawOp);
    fn fathom_op_label(op: *mut RawOp, label: *const c_char);
    fn fathom_event_(site: *mut c_void, value: f64, id: u64, label: *const c_char);
    fn fathom_report_text(
        text: *mut c_char,
        cap: usize,
        format: c_int,
        context: *const c_char,
    ) -> c_long;
    fn fathom_export(path: *const c_char, format: c_int) -> c_int;
    fn fathom_now_ns() -> u64;
}

/// Output format of [`report`] and [`export`]; values as in `enum fathom_format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Format {
    Table = 0,
    Compact = 1,
    Json = 2,
    Csv = 3,
    File = 4,
    Collapsed = 5,
    Chrome = 6,
}

/// What to measure; values as in `enum fathom_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Mode {
    Off = 0,
    Count = 1,
    Aggregate = 2,
    Trace = 3,
    Precise = 4,
}

/// The kind of a [`Site`]; values as in `struct fathom_stat.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    Zone = 0,
    Op = 1,
    Counter = 2,
    Gauge = 3,
    Instant = 4,
    Frame = 5,
}

fn text(s: &str) -> CString {
    CString::new(s.replace('\0', " ")).unwrap_or_default()
}

/// A place in the program.  The macros declare it as a `static`; the library is asked for it once.
pub struct Site {
    name: &'static str,
    file: &'static str,
    line: u32,
    kind: Kind,
    raw: AtomicPtr<c_void>,
}

impl Site {
    pub const fn new(name: &'static str, file: &'static str, line: u32, kind: Kind) -> Site {
        Site { name, file, line, kind, raw: AtomicPtr::new(std::ptr::null_mut()) }
    }

    fn raw(&self) -> *mut c_void {
        let known = self.raw.load(Ordering::Acquire);
        if known.is_null() { self.find() } else { known }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let (name, group, file) = (text(self.name), text("rust"), text(self.file));
        // The library copies the strings and never frees a site.
        let raw = unsafe {
            fathom_site_get(name.as_ptr(), group.as_ptr(), file.as_ptr(), self.line, self.kind as c_int)
        };
        self.raw.store(raw, Ordering::Release);
        raw
    }

    fn is_on(raw: *mut c_void) -> bool {
        // The first word of a site is its mode; the library writes it atomically.
        !raw.is_null() && unsafe { (*(raw as *const std::sync::atomic::AtomicU32)).load(Ordering::Relaxed) != 0 }
    }

    pub fn begin(&self) -> Zone {
        let raw = self.raw();
        let zone = if Site::is_on(raw) { unsafe { fathom_begin_(raw) } } else { RawZone { node: std::ptr::null_mut(), start: 0 } };
        Zone { raw: zone, thread: PhantomData }
    }

    pub fn op(&self, bytes: u64, backend: &str) -> Op {
        let raw = self.raw();
        let op = if Site::is_on(raw) {
            let backend = text(backend);
            unsafe { fathom_op_begin_(raw, bytes, backend.as_ptr()) }
        } else {
            RawOp { zone: RawZone { node: std::ptr::null_mut(), start: 0 }, bytes, work: 0, tag: 0 }
        };
        Op { raw: op, thread: PhantomData }
    }

    pub fn value(&self, value: f64) {
        let raw = self.raw();
        if Site::is_on(raw) {
            unsafe { fathom_event_(raw, value, 0, std::ptr::null()) }
        }
    }
}

/// An open zone; it ends when dropped.
pub struct Zone {
    raw: RawZone,
    thread: PhantomData<*const ()>,
}

impl Drop for Zone {
    fn drop(&mut self) {
        if !self.raw.node.is_null() {
            unsafe { fathom_end_(&mut self.raw) }
        }
    }
}

/// A running operation; it ends when dropped.
pub struct Op {
    raw: RawOp,
    thread: PhantomData<*const ()>,
}

impl Op {
    /// Set the size, if it was not known at the start.
    pub fn set_bytes(&mut self, bytes: u64) {
        self.raw.bytes = bytes;
    }

    /// Set a checksum of the input, for advice on repeated work.
    pub fn set_tag(&mut self, tag: u64) {
        self.raw.tag = tag;
    }

    /// Set a label such as `worker="0"`, which gets its own line in reports.
    pub fn set_label(&mut self, label: &str) {
        let label = text(label);
        unsafe { fathom_op_label(&mut self.raw, label.as_ptr()) }
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        if !self.raw.zone.node.is_null() {
            unsafe { fathom_op_end_(&mut self.raw) }
        }
    }
}

/// Measure the time from here to the end of the block.
#[macro_export]
macro_rules! zone {
    ($name:expr) => {
        let _fathom_zone = {
            static SITE: $crate::Site = $crate::Site::new($name, file!(), line!(), $crate::Kind::Zone);
            SITE.begin()
        };
    };
}

/// Start an operation with a size and a backend; returns the running [`Op`].
#[macro_export]
macro_rules! op {
    ($name:expr, $bytes:expr, $backend:expr) => {{
        static SITE: $crate::Site = $crate::Site::new($name, file!(), line!(), $crate::Kind::Op);
        SITE.op($bytes as u64, $backend)
    }};
}

/// Add to a counter.
#[macro_export]
macro_rules! count {
    ($name:expr, $delta:expr) => {{
        static SITE: $crate::Site = $crate::Site::new($name, file!(), line!(), $crate::Kind::Counter);
        SITE.value($delta as f64)
    }};
}

/// Set a gauge.
#[macro_export]
macro_rules! gauge {
    ($name:expr, $value:expr) => {{
        static SITE: $crate::Site = $crate::Site::new($name, file!(), line!(), $crate::Kind::Gauge);
        SITE.value($value as f64)
    }};
}

/// Start measuring.  Returns false on failure.
pub fn enable() -> bool {
    unsafe { fathom_enable() == 0 }
}

pub fn disable() {
    unsafe { fathom_disable() }
}

pub fn clear() {
    unsafe { fathom_clear() }
}

/// Set the mode of a group, a name, or a pattern with `*`.
pub fn set_mode(pattern: &str, mode: Mode) -> i32 {
    let pattern = text(pattern);
    unsafe { fathom_mode(pattern.as_ptr(), mode as c_int) }
}

pub fn set_thread_name(name: &str) {
    let name = text(name);
    unsafe { fathom_thread_name(name.as_ptr()) }
}

/// The report as text; empty if measuring was never started.
pub fn report(format: Format) -> String {
    let mut room = 1 << 16;
    loop {
        let mut buffer = vec![0u8; room];
        let n = unsafe { fathom_report_text(buffer.as_mut_ptr() as *mut c_char, room, format as c_int, std::ptr::null()) };
        if n < 0 {
            return String::new();
        }
        if (n as usize) < room {
            buffer.truncate(n as usize);
            return String::from_utf8_lossy(&buffer).into_owned();
        }
        room = n as usize + 4096;
    }
}

/// Write a file.  Returns false on failure.
pub fn export(path: &str, format: Format) -> bool {
    let path = text(path);
    unsafe { fathom_export(path.as_ptr(), format as c_int) == 0 }
}

/// CLOCK_MONOTONIC in nanoseconds.
pub fn now_ns() -> u64 {
    unsafe { fathom_now_ns() }
}
