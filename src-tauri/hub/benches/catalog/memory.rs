//! Measures how much memory a value holds. An allocator counts the bytes that are allocated and not
//! freed.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

struct CountingAllocator;

// SAFETY: each method passes its arguments to the system's allocator unchanged, and otherwise only
// updates a counter.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATED.fetch_add(size, Relaxed);
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::realloc`.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

/// Returns the result of `make`, and the number of bytes by which the allocated memory has grown.
pub(crate) fn measure_held<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.load(Relaxed);
    let value = make();
    (value, ALLOCATED.load(Relaxed).saturating_sub(before))
}
