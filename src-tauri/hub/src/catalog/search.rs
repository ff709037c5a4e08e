//! Ranked search over tools: BM25 over their names, titles, descriptions and parameters.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::CatalogEntry;

/// The weight of a word, by the field that contains it.
const NAME: f32 = 4.0;
const TITLE: f32 = 3.0;
const SERVER: f32 = 2.0;
const PARAMETER: f32 = 1.5;
const TEXT: f32 = 1.0;
const PARAMETER_TEXT: f32 = 0.5;
/// The weight of a word that only begins with the word of the query.
const PREFIX: f32 = 0.5;
const MIN_PREFIX: usize = 3;
/// The parameters of BM25 from Robertson and Zaragoza (The Probabilistic Relevance Framework,
/// 2009).
const K1: f32 = 1.2;
const B: f32 = 0.75;
const MAX_WORDS: usize = 16;
const MAX_WORD: usize = 64;

/// An index of tools.
#[derive(Debug)]
pub struct Index {
    tools: Vec<Arc<CatalogEntry>>,
    /// The tools that contain each word, with the word's contribution to their scores.
    words: BTreeMap<String, Postings>,
}

/// The number of each tool, with a weight or a score.
type Postings = Vec<(u32, f32)>;

impl Index {
    pub fn new(tools: Vec<Arc<CatalogEntry>>) -> Self {
        let (mut words, lengths) = index_words(&tools);
        #[expect(clippy::cast_precision_loss, reason = "a few thousand tools at most")]
        let number = tools.len() as f32;
        let mean = (lengths.iter().sum::<f32>() / number.max(1.0)).max(1.0);
        for postings in words.values_mut() {
            #[expect(clippy::cast_precision_loss, reason = "a few thousand tools at most")]
            let count_with_word = postings.len() as f32;
            let rarity = (1.0 + (number - count_with_word + 0.5) / (count_with_word + 0.5)).ln();
            for (index, count) in postings.iter_mut() {
                let length = lengths.get(*index as usize).copied().unwrap_or(mean);
                *count *= rarity * (K1 + 1.0) / (*count + K1 * (1.0 - B + B * length / mean));
            }
            postings.shrink_to_fit();
        }
        Self {
            tools,
            words: words.into_iter().collect(),
        }
    }

    /// Returns the tools that match best, best first. Equal scores keep the order of the tools. An
    /// empty query matches all tools.
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
        for word in query_words.iter().take(MAX_WORDS) {
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
        found.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        found.into_iter().map(|(_, _, tool)| tool).collect()
    }

    /// Computes the score of one word of the query for each tool. If several words begin with it,
    /// the best one counts.
    fn score_word(&self, word: &str, best: &mut [f32]) {
        for (indexed_word, postings) in self
            .words
            .range(word.to_owned()..)
            .take_while(|(indexed_word, _)| indexed_word.starts_with(word))
        {
            let weight = if indexed_word == word { 1.0 } else { PREFIX };
            if indexed_word != word && word.len() < MIN_PREFIX {
                continue;
            }
            for (index, score) in postings {
                if let Some(best) = best.get_mut(*index as usize) {
                    *best = best.max(score * weight);
                }
            }
        }
    }
}

/// Returns each word with the tools that contain it and its weight there, and the sum of weights of
/// each tool.
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
                        Some((last, count)) if *last == index => *count += weight,
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

/// Passes on the texts of a tool, each with the weight of its words.
fn for_each_text(tool: &CatalogEntry, mut visit: impl FnMut(&str, f32)) {
    let definition = &tool.definition;
    visit(&definition.name, NAME);
    visit(definition.title.as_deref().unwrap_or_default(), TITLE);
    visit(tool.server.id.as_str(), SERVER);
    visit(&definition.description, TEXT);
    let parameters = definition
        .input_schema
        .get("properties")
        .and_then(serde_json::Value::as_object);
    for (name, schema) in parameters.into_iter().flatten() {
        visit(name, PARAMETER);
        visit(
            schema
                .get("description")
                .and_then(serde_json::Value::as_str)
                .unwrap_or_default(),
            PARAMETER_TEXT,
        );
    }
}

fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for_each_word(text, |word| words.push(word.to_owned()));
    words
}

/// Passes on the words of a text: letters and digits, in lower case, with `camelCase` split and
/// plural endings removed.
fn for_each_word(text: &str, mut take: impl FnMut(&str)) {
    let mut word = String::new();
    let mut after_lower = false;
    for c in text.chars() {
        let begins = c.is_uppercase() && after_lower;
        if begins || !c.is_alphanumeric() {
            emit_word(&mut word, &mut take);
        }
        if c.is_alphanumeric() && word.len() < MAX_WORD {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase() || c.is_numeric();
    }
    emit_word(&mut word, &mut take);
}

/// Passes on the word, and clears it for the next one.
fn emit_word(word: &mut String, take: &mut impl FnMut(&str)) {
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
    take(word);
    word.clear();
}

#[cfg(test)]
mod tests;
