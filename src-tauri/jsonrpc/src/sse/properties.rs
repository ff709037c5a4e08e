//! Properties that hold for any bytes.

use super::{SseEvent, SseParser};

/// Checks that the events do not depend on how the bytes are split, that they are the events that
/// the standard defines, and that their length is bounded. If an event is too long, only events
/// before it are returned.
pub(crate) fn events_do_not_depend_on_cuts(pieces: &[&[u8]], max: usize) {
    let whole = pieces.concat();
    let in_pieces = read(pieces, max);
    let single: Vec<&[u8]> = whole.chunks(1).collect();
    assert_eq!(in_pieces, read(&single, max), "byte by byte");
    assert_eq!(in_pieces, read(&[&whole], max), "at once");
    let expected = expected(&whole);
    let (events, too_long) = in_pieces;
    assert!(
        if too_long {
            expected.starts_with(&events)
        } else {
            expected == events
        },
        "{expected:?} is read as {events:?}"
    );
    // At worst, decoding replaces each byte with U+FFFD, which has three bytes.
    assert!(
        events.iter().all(|event| event.data.len() <= 3 * max),
        "an event is bounded"
    );
}

/// Checks that data is read as it was written into an event, unless the data is blank. A carriage
/// return in the data is replaced first, because it would be read as a line break.
pub(crate) fn data_survives_a_round_trip(data: &str) {
    let data = data.replace('\r', " ");
    if data.trim().is_empty() {
        return;
    }
    let lines: String = data
        .split('\n')
        .map(|line| format!("data: {line}\n"))
        .collect();
    let (events, too_long) = read(&[format!("event: it\n{lines}\n").as_bytes()], usize::MAX);
    assert_eq!(
        events,
        [SseEvent {
            name: "it".to_owned(),
            id: String::new(),
            data
        }]
    );
    assert!(!too_long);
}

/// Returns the events, and whether an event was too long.
fn read(pieces: &[&[u8]], max: usize) -> (Vec<SseEvent>, bool) {
    let mut parser = SseParser::new(max);
    let mut events = Vec::new();
    // The last piece is empty, and fetches an error that follows complete events.
    for piece in pieces.iter().copied().chain([&[][..]]) {
        match parser.push(piece) {
            Ok(new_events) => events.extend(new_events),
            Err(_) => return (events, true),
        }
    }
    (events, false)
}

/// Applies the rules of the standard to the whole text, but ignores events whose data is blank.
fn expected(bytes: &[u8]) -> Vec<SseEvent> {
    let text = String::from_utf8_lossy(bytes);
    let text = text
        .strip_prefix('\u{feff}')
        .unwrap_or(&text)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let mut events = Vec::new();
    let (mut name, mut id, mut data): (String, String, Vec<&str>) = Default::default();
    // Text after the last line break is not a line.
    for line in text
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
    {
        match line.split_once(':').unwrap_or((line, "")) {
            ("", "") if line.is_empty() => {
                let (name, data) = (
                    std::mem::take(&mut name),
                    std::mem::take(&mut data).join("\n"),
                );
                if !data.trim().is_empty() {
                    events.push(SseEvent {
                        name: if name.is_empty() {
                            "message".to_owned()
                        } else {
                            name
                        },
                        id: id.clone(),
                        data,
                    });
                }
            }
            ("event", value) => value
                .strip_prefix(' ')
                .unwrap_or(value)
                .clone_into(&mut name),
            ("id", value) if !value.contains('\0') => {
                value.strip_prefix(' ').unwrap_or(value).clone_into(&mut id);
            }
            ("data", value) => data.push(value.strip_prefix(' ').unwrap_or(value)),
            _ => {}
        }
    }
    events
}
