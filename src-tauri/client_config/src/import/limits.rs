//! Limits for YAML. The parser has none, and aliases can make a short text huge.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser};

const MAX_DEPTH: usize = 128;

/// The most values that a text may have when its aliases are replaced.
const MAX_VALUES: usize = 1_000_000;

/// Returns whether a text can be parsed with a bounded stack and memory. If the text has a syntax
/// error, only the part before the error counts, because the parser stops there.
pub(super) fn is_within_limits(yaml: &str) -> bool {
    let mut sizes = BTreeMap::<usize, usize>::new();
    // The anchor of each open collection, and the number of values before it.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut count = 0_usize;
    for event in Parser::new_from_str(yaml) {
        let Ok((event, _)) = event else { break };
        match event {
            Event::Scalar(_, _, anchor, _) => {
                sizes.insert(anchor, 1);
                count += 1;
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                open.push((anchor, count));
                count += 1;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some((anchor, before)) = open.pop() {
                    sizes.insert(anchor, count - before);
                }
            }
            Event::Alias(anchor) => {
                count = count.saturating_add(sizes.get(&anchor).copied().unwrap_or(1));
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
        if open.len() > MAX_DEPTH || count > MAX_VALUES {
            return false;
        }
    }
    true
}
