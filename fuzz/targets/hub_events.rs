//! A hub's stream of events: the first four bytes say how the rest is cut.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let (sizes, bytes) = input.split_at(input.len().min(4));
    drawbridge_endpoint::fuzzing::events(&odd_json::cut(bytes, sizes));
});
