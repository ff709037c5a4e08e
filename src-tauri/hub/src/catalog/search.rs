//! Ranked search over tools: BM25 over their names, titles, descriptions and parameters.

use std::{collections::BTreeMap, sync::Arc};

use super::CatalogEntry;

/// How much a word counts by where it stands.
const NAME: f32 = 4.0;
const TITLE: f32 = 3.0;
const SERVER: f32 = 2.0;
const PARAMETER: f32 = 1.5;
const TEXT: f32 = 1.0;
const PARAMETER_TEXT: f32 = 0.5;
/// A word that only begins like that of the query counts so much.
const PREFIX: f32 = 0.5;
const MIN_PREFIX: usize = 3;
/// The parameters of BM25 as Robertson and Zaragoza give them (The Probabilistic Relevance Framework, 2009).
const K1: f32 = 1.2;
const B: f32 = 0.75;
const MAX_WORDS: usize = 16;
const MAX_WORD: usize = 64;

/// An index of tools.
#[derive(Debug)]
pub struct Index {
    tools: Vec<Arc<CatalogEntry>>,
    /// By word the tools that have it, with what it adds to each one's score.
    words: BTreeMap<String, Vec<(u32, f32)>>,
}

impl Index {
    pub fn new(tools: Vec<Arc<CatalogEntry>>) -> Self {
        let counted: Vec<_> = tools.iter().map(|tool| count(tool)).collect();
        let lengths: Vec<f32> = counted.iter().map(|words| words.values().sum()).collect();
        #[expect(clippy::cast_precision_loss, reason = "of a few thousand tools")]
        let number = tools.len() as f32;
        let mean = (lengths.iter().sum::<f32>() / number.max(1.0)).max(1.0);
        let mut words: BTreeMap<String, Vec<(u32, f32)>> = BTreeMap::new();
        for (at, (counts, length)) in (0_u32..).zip(counted.into_iter().zip(lengths)) {
            for (word, count) in counts {
                let saturated = count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / mean));
                words.entry(word).or_default().push((at, saturated));
            }
        }
        for found in words.values_mut() {
            #[expect(clippy::cast_precision_loss, reason = "of a few thousand tools")]
            let having = found.len() as f32;
            let rarity = (1.0 + (number - having + 0.5) / (having + 0.5)).ln();
            found.iter_mut().for_each(|(_, score)| *score *= rarity);
        }
        Self { tools, words }
    }

    /// The tools that fit best, the best first; of equal ones the first in order. All of them for an empty query.
    pub fn search(&self, query: &str, fits: impl Fn(&CatalogEntry) -> bool) -> Vec<&Arc<CatalogEntry>> {
        let wanted = words(query);
        if wanted.is_empty() {
            return self.tools.iter().filter(|tool| fits(tool)).collect();
        }
        let mut scores = vec![0.0_f32; self.tools.len()];
        for word in wanted.iter().take(MAX_WORDS) {
            self.add(word, &mut scores);
        }
        let mut found: Vec<_> =
            scores.iter().zip(&self.tools).filter(|(score, tool)| **score > 0.0 && fits(tool)).collect();
        found.sort_by(|one, other| other.0.total_cmp(one.0));
        found.into_iter().map(|(_, tool)| tool).collect()
    }

    /// Adds what a word of the query is worth: of all words that begin like it, the best counts for a tool.
    fn add(&self, word: &str, scores: &mut [f32]) {
        let mut best: BTreeMap<u32, f32> = BTreeMap::new();
        for (known, found) in self.words.range(word.to_owned()..).take_while(|(known, _)| known.starts_with(word)) {
            let weight = if known == word { 1.0 } else { PREFIX };
            if known != word && word.len() < MIN_PREFIX {
                continue;
            }
            for (at, score) in found {
                let best = best.entry(*at).or_default();
                *best = best.max(score * weight);
            }
        }
        for (at, score) in best {
            if let Some(sum) = scores.get_mut(at as usize) {
                *sum += score;
            }
        }
    }
}

/// The words of a tool, each with how much it says.
fn count(tool: &CatalogEntry) -> BTreeMap<String, f32> {
    let definition = &tool.definition;
    let mut counts = BTreeMap::new();
    let mut add = |text: &str, weight: f32| {
        for word in words(text) {
            *counts.entry(word).or_insert(0.0) += weight;
        }
    };
    add(&definition.name, NAME);
    add(definition.title.as_deref().unwrap_or_default(), TITLE);
    add(tool.server.id.as_str(), SERVER);
    add(&definition.description, TEXT);
    let parameters = definition.input_schema.get("properties").and_then(serde_json::Value::as_object);
    for (name, schema) in parameters.into_iter().flatten() {
        add(name, PARAMETER);
        add(schema.get("description").and_then(serde_json::Value::as_str).unwrap_or_default(), PARAMETER_TEXT);
    }
    counts
}

/// The words of a text: of letters and digits, in lower case, `camelCase` taken apart, without the plural's ending.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_lower = false;
    for c in text.chars() {
        let begins = c.is_uppercase() && after_lower;
        if begins || !c.is_alphanumeric() {
            finish(&mut words, &mut word);
        }
        if c.is_alphanumeric() && word.len() < MAX_WORD {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase() || c.is_numeric();
    }
    finish(&mut words, &mut word);
    words
}

fn finish(words: &mut Vec<String>, word: &mut String) {
    if word.is_empty() {
        return;
    }
    let mut word = std::mem::take(word);
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 2) {
        word = format!("{stem}y");
    } else if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") {
        word.pop();
    }
    words.push(word);
}

#[cfg(test)]
mod tests;
