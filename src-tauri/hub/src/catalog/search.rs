//! Ranked search over tools: BM25 over their names, titles, servers, descriptions and parameters.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::CatalogEntry;

/// The weight of a word in each field of a tool.
const NAME_WEIGHT: f32 = 4.0;
const TITLE_WEIGHT: f32 = 3.0;
const SERVER_WEIGHT: f32 = 2.0;
const PARAMETER_WEIGHT: f32 = 1.5;
const DESCRIPTION_WEIGHT: f32 = 1.0;
const PARAMETER_DESCRIPTION_WEIGHT: f32 = 0.5;
/// The factor for the score of an indexed word that only begins with a word of the query.
const PREFIX_FACTOR: f32 = 0.5;
/// Shorter words of a query match only equal words.
const MIN_PREFIX_BYTES: usize = 3;
/// The parameters of BM25 from Robertson and Zaragoza (The Probabilistic Relevance Framework,
/// 2009).
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// Further words of a query are ignored.
const MAX_QUERY_WORDS: usize = 16;
/// Longer words are cut.
const MAX_WORD_BYTES: usize = 64;

/// An index of tools.
#[derive(Debug)]
pub struct Index {
    tools: Vec<Arc<CatalogEntry>>,
    words: BTreeMap<String, Postings>,
}

/// The tools that contain a word, as indices into [`Index::tools`]. With each index is the weight
/// of the word in the tool or, in the finished index, the word's contribution to the tool's score.
type Postings = Vec<(u32, f32)>;

impl Index {
    pub fn new(tools: Vec<Arc<CatalogEntry>>) -> Self {
        let (mut words, lengths) = index_words(&tools);
        #[expect(clippy::cast_precision_loss, reason = "a few thousand tools at most")]
        let tool_count = tools.len() as f32;
        let mean_length = (lengths.iter().sum::<f32>() / tool_count.max(1.0)).max(1.0);
        for postings in words.values_mut() {
            #[expect(clippy::cast_precision_loss, reason = "a few thousand tools at most")]
            let tools_with_word = postings.len() as f32;
            let rarity =
                (1.0 + (tool_count - tools_with_word + 0.5) / (tools_with_word + 0.5)).ln();
            for (index, weight) in postings.iter_mut() {
                let length = lengths.get(*index as usize).copied().unwrap_or(mean_length);
                *weight *=
                    rarity * (K1 + 1.0) / (*weight + K1 * (1.0 - B + B * length / mean_length));
            }
            postings.shrink_to_fit();
        }
        Self {
            tools,
            words: words.into_iter().collect(),
        }
    }

    /// Returns the tools that match the query and for which `accepts` returns true, best match
    /// first. Tools with equal scores keep their order. A query without words matches all tools.
    pub fn search(
        &self,
        query: &str,
        accepts: impl Fn(&CatalogEntry) -> bool,
    ) -> Vec<&Arc<CatalogEntry>> {
        let query_words = split_words(query);
        if query_words.is_empty() {
            return self.tools.iter().filter(|tool| accepts(tool)).collect();
        }
        let mut scores = vec![0.0_f32; self.tools.len()];
        let mut best = scores.clone();
        for word in query_words.iter().take(MAX_QUERY_WORDS) {
            self.score_word(word, &mut best);
            for (sum, best) in scores.iter_mut().zip(&mut best) {
                *sum += std::mem::take(best);
            }
        }
        let scored = scores.iter().zip(&self.tools).enumerate();
        let matching = scored.filter(|(_, (score, tool))| **score > 0.0 && accepts(tool));
        let mut found: Vec<_> = matching
            .map(|(index, (score, tool))| (*score, index, tool))
            .collect();
        found.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        found.into_iter().map(|(_, _, tool)| tool).collect()
    }

    /// Raises the entry of each tool in `best` to the score of this word of the query. If several
    /// words of a tool begin with this word, the highest score counts.
    fn score_word(&self, word: &str, best: &mut [f32]) {
        for (indexed_word, postings) in self
            .words
            .range(word.to_owned()..)
            .take_while(|(indexed_word, _)| indexed_word.starts_with(word))
        {
            let factor = if indexed_word == word {
                1.0
            } else {
                PREFIX_FACTOR
            };
            if indexed_word != word && word.len() < MIN_PREFIX_BYTES {
                continue;
            }
            for (index, score) in postings {
                if let Some(best) = best.get_mut(*index as usize) {
                    *best = best.max(score * factor);
                }
            }
        }
    }
}

/// Returns the tools and weights of each word, and the length of each tool: the sum of the weights
/// of its words.
fn index_words(tools: &[Arc<CatalogEntry>]) -> (HashMap<String, Postings>, Vec<f32>) {
    let mut words: HashMap<String, Postings> = HashMap::new();
    let mut lengths = Vec::with_capacity(tools.len());
    for (index, tool) in (0_u32..).zip(tools) {
        let mut length = 0.0;
        for_each_text(tool, |text, weight| {
            for_each_word(text, |word| {
                length += weight;
                match words.get_mut(word) {
                    Some(postings) => match postings.last_mut() {
                        Some((last, sum)) if *last == index => *sum += weight,
                        _ => postings.push((index, weight)),
                    },
                    None => drop(words.insert(word.to_owned(), vec![(index, weight)])),
                }
            });
        });
        lengths.push(length);
    }
    (words, lengths)
}

/// Calls `visit` with each text of a tool and the weight of its words.
fn for_each_text(tool: &CatalogEntry, mut visit: impl FnMut(&str, f32)) {
    let definition = &tool.definition;
    visit(&definition.name, NAME_WEIGHT);
    visit(
        definition.title.as_deref().unwrap_or_default(),
        TITLE_WEIGHT,
    );
    visit(tool.server.id.as_str(), SERVER_WEIGHT);
    visit(&definition.description, DESCRIPTION_WEIGHT);
    let parameters = definition
        .input_schema
        .get("properties")
        .and_then(serde_json::Value::as_object);
    for (name, schema) in parameters.into_iter().flatten() {
        visit(name, PARAMETER_WEIGHT);
        visit(
            schema
                .get("description")
                .and_then(serde_json::Value::as_str)
                .unwrap_or_default(),
            PARAMETER_DESCRIPTION_WEIGHT,
        );
    }
}

fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for_each_word(text, |word| words.push(word.to_owned()));
    words
}

/// Calls `visit` with each word of a text: letters and digits, in lower case, with `camelCase`
/// split and plural endings removed.
fn for_each_word(text: &str, mut visit: impl FnMut(&str)) {
    let mut word = String::new();
    let mut after_lower = false;
    for c in text.chars() {
        let begins = c.is_uppercase() && after_lower;
        if begins || !c.is_alphanumeric() {
            emit_word(&mut word, &mut visit);
        }
        if c.is_alphanumeric() && word.len() < MAX_WORD_BYTES {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase() || c.is_numeric();
    }
    emit_word(&mut word, &mut visit);
}

/// Calls `visit` with the word without its plural ending, and clears the buffer for the next word.
fn emit_word(word: &mut String, visit: &mut impl FnMut(&str)) {
    if word.is_empty() {
        return;
    }
    if word.len() > 5 && word.ends_with("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if word.len() > 3
        && word.ends_with('s')
        && !word.ends_with("ss")
        && !word.ends_with("us")
    {
        word.pop();
    }
    visit(word);
    word.clear();
}

#[cfg(test)]
mod tests;
