// The middle of the native code in Rust, between functions of native.c. The
// functions know their own stack by the frame pointer that this is built with.
use std::arch::asm;
use std::os::raw::c_int;

extern "C" {
    fn native_enter(kind: c_int, function: usize, ra: usize, cfa: usize);
    fn native_leave();
    fn native_depth() -> c_int;
    fn native_unwound(depth: c_int);
    fn native_last(n: c_int) -> c_int;
}

macro_rules! enter {
    ($function:expr) => {
        unsafe {
            let fp: *const usize;
            #[cfg(target_arch = "x86_64")]
            asm!("mov {}, rbp", out(reg) fp, options(nomem, nostack, preserves_flags));
            #[cfg(target_arch = "aarch64")]
            asm!("mov {}, x29", out(reg) fp, options(nomem, nostack, preserves_flags));
            // On arm64 the record may lie anywhere in the frame: it does not tell the CFA.
            let cfa = if cfg!(target_arch = "x86_64") { fp.add(2) as usize } else { 0 };
            native_enter('F' as c_int, $function as usize, *fp.add(1), cfa)
        }
    };
}
fn leave() {
    unsafe { native_leave() }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn middle(n: c_int) -> c_int {
    enter!(middle as extern "C" fn(c_int) -> c_int);
    let unknown = std::convert::identity(n);
    let r = through(&|m: c_int| {
        enter!(0);
        let r = unsafe { native_last(m + unknown) } + 1;
        leave();
        r
    }, n + 1);
    leave();
    r
}

#[inline(never)]
fn through(f: &dyn Fn(c_int) -> c_int, n: c_int) -> c_int {
    enter!(through as fn(&dyn Fn(c_int) -> c_int, c_int) -> c_int);
    let r = f(n + 1) + n;
    leave();
    r
}

// Unwinding leaves frames without their leave(): depth goes back to what it was.
struct Guard {
    depth: c_int,
    stop: bool,
}

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        unsafe { native_unwound(self.depth) };
        enter!(0);
        if self.stop {
            middle(self.depth);
        }
        leave();
    }
}

#[inline(never)]
fn panicking(n: c_int) -> c_int {
    if n != 0 {
        std::panic::resume_unwind(Box::new(n));
    }
    n
}

#[inline(never)]
fn crossed(n: c_int, stop: bool) -> c_int {
    enter!(crossed as fn(c_int, bool) -> c_int);
    let _guard = Guard { depth: unsafe { native_depth() }, stop };
    let r = panicking(n + 1) + 1;
    leave();
    r
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn rust_catching(n: c_int, stop_in_cleanup: c_int) -> c_int {
    enter!(rust_catching as extern "C" fn(c_int, c_int) -> c_int);
    let depth = unsafe { native_depth() };
    // The function that calls crossed is the standard library's, or inlined here.
    unsafe { native_enter('O' as c_int, rust_catching as extern "C" fn(c_int, c_int) -> c_int as usize, 0, 0) };
    let caught = std::panic::catch_unwind(|| crossed(n + 1, stop_in_cleanup != 0));
    unsafe { native_unwound(depth) };
    let r = match caught {
        Ok(r) => r,
        Err(_) if stop_in_cleanup != 0 => n,
        Err(_) => middle(n),
    };
    leave();
    r
}
