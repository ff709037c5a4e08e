//! The event stream of a server. The first four bytes of the input define how the rest is cut.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let (sizes, bytes) = input.split_at(input.len().min(4));
    drawbridge_hub::fuzzing::events(&arbitrary_json::split_bytes(bytes, sizes));
});
