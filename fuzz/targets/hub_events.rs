//! Fuzzes the parser of the hub's event stream. The first four bytes of the input are the sizes of
//! the pieces into which the rest is split.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let (sizes, bytes) = input.split_at(input.len().min(4));
    drawbridge_endpoint::fuzzing::events(&arbitrary_json::split_bytes(bytes, sizes));
});
