//! How much memory something holds: what was asked for and is not given back, as an allocator counts it.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

static HELD: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

// SAFETY: all of it is done by the system's allocator, with what was given; besides that numbers are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD.fetch_add(size, Relaxed);
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// What was made, and how many bytes more are held since.
pub(crate) fn held<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Relaxed);
    let made = make();
    (made, HELD.load(Relaxed).saturating_sub(before))
}
