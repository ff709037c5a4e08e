//! What a server says before it says where to post: the first four bytes say how the rest is cut.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let (sizes, bytes) = input.split_at(input.len().min(4));
    drawbridge_hub::fuzzing::opening(&odd_json::cut(bytes, sizes));
});
