//! Fuzzes the parser of a server's stdout. The first four bytes of the input, each plus 1, are the
//! sizes of the pieces into which the rest is split; the sizes repeat.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let (sizes, bytes) = input.split_at(input.len().min(4));
    drawbridge_upstream::fuzzing::lines(&arbitrary_json::split_bytes(bytes, sizes));
});
