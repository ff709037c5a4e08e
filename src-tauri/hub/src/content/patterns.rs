//! The patterns of the content defence.

use std::sync::LazyLock;

use drawbridge_model::content::FlagKind;
use regex::{Regex, RegexSet};

/// The patterns of suspicious texts, in any letter case. A space stands for any white space. The
/// gaps within a pattern are bounded, so that it does not connect words that are far apart.
const PATTERNS: &[(FlagKind, &str)] = &[
    (
        FlagKind::Instructions,
        r"\b(?:ignore|disregard|forget|override|bypass) (?:[\w']+[ ,]+){0,4}?(?:previous|prior|above|earlier|preceding|existing|system|your|all) (?:[\w']+ ){0,3}?(?:instructions?|prompts?|guidelines?|directives?|orders?)\b",
    ),
    (
        FlagKind::Instructions,
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all|what)(?: \w+){0,3} (?:above|before|previous|prior|you were told|told|said)\b",
    ),
    (
        FlagKind::Instructions,
        r"\b(?:new|updated|real|actual|revised|secret) (?:system )?(?:instructions?|prompt)(?: for (?:you|the (?:assistant|model|ai)))?\s*:",
    ),
    (
        FlagKind::Instructions,
        r"\b(?:you are now (?:in )?(?:developer|debug|admin|god|root|jailbreak|dan|unrestricted)|enter (?:developer|god|jailbreak) mode|from now on,? you (?:must|will|are to|shall|should))\b",
    ),
    (
        FlagKind::Concealment,
        r"\b(?:do not|don't|never|without|must not|should not) (?:tell|telling|inform|informing|notify|notifying|alert|alerting|mention|mentioning|reveal|revealing|disclose|disclosing)\b[^.!?\n]{0,60}\b(?:the|your) (?:user|human|person)\b",
    ),
    (
        FlagKind::Concealment,
        r"\b(?:hide|conceal|keep) (?:this|it|these|that)\b[^.!?\n]{0,40}\b(?:secret )?from (?:the|your) (?:user|human)\b",
    ),
    (
        FlagKind::RoleTag,
        r"<(?:\s|/)*(?:system|system[-_ ]?prompt|important|assistant|human|tool_result|function_results|instructions_for_(?:ai|model|assistant))\s*>",
    ),
    (
        FlagKind::RoleTag,
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id|begin_of_text)\|>|\[/?INST\]|<</?SYS>>",
    ),
    (
        FlagKind::PrivateFile,
        r"\b(?:read|open|cat|load|get|fetch|access|include|attach|pass|provide|send|copy|upload|print|show)\b[^.!?\n]{0,60}(?:\.ssh\b|\bid_(?:rsa|ed25519|ecdsa)\b|\.aws/credentials|\.gnupg\b|\.cursor/mcp\.json|\.kube/config|\.netrc\b|/etc/shadow|\.env file)",
    ),
    (
        FlagKind::ToolCall,
        r"\b(?:you|assistant|model|ai) (?:must|should|shall|have to|need to) (?:now|immediately|always|also|first|silently|secretly) (?:call|invoke|run|execute|use)\b",
    ),
    (
        FlagKind::ToolCall,
        r"\b(?:before|after|whenever|instead of|prior to) (?:you )?(?:using|calling|invoking|running|use|call|invoke|run) (?:any|all|every|the|another|other|this)(?: \w+){0,2} tools?\b[^!?\n]{0,80}\b(?:must|always|first call|read the|send)\b",
    ),
    (
        FlagKind::ToolCall,
        r"\b(?:silently|secretly|immediately) (?:call|invoke|run|execute) (?:the )?[\w`'.-]{1,64}",
    ),
    (
        FlagKind::Exfiltration,
        r"\b(?:send|post|upload|forward|exfiltrate|transmit|leak|email|append)\b[^.!?\n]{0,60}\b(?:conversation|chat history|system prompt|secrets?|passwords?|credentials|api keys?|private keys?|environment variables|contents? of)\b[^!?\n]{0,60}(?:https?://|\bto [\w.+-]+@[\w-]+\.)",
    ),
    (
        FlagKind::Exfiltration,
        r"!\[[^\]\n]{0,200}\]\(\s*<?https?://[^)\s?]{1,500}\?[^)\s]{0,300}?=(?:[^)\s&]{0,100}?(?:\{|%7b|\$\(|<)|[a-z0-9+/_%-]{80,})",
    ),
];

/// The compiled patterns: all together, to find in one pass which patterns match a text, and
/// separately, to find the range of each match.
pub(super) struct Patterns {
    set: RegexSet,
    each: Vec<(FlagKind, Regex)>,
}

pub(super) static COMPILED: LazyLock<Patterns> = LazyLock::new(|| {
    let texts: Vec<_> = PATTERNS
        .iter()
        .map(|(_, pattern)| {
            // ASCII versions of `\b` and `\w` keep the automaton small.
            format!(
                "(?i){}",
                pattern
                    .replace(' ', r"\s+")
                    .replace(r"\b", r"(?-u:\b)")
                    .replace(r"\w", r"[0-9a-z_]")
            )
        })
        .collect();
    let valid = "the patterns are checked by a test";
    Patterns {
        set: RegexSet::new(&texts).expect(valid),
        each: PATTERNS
            .iter()
            .zip(&texts)
            .map(|((kind, _), text)| (*kind, Regex::new(text).expect(valid)))
            .collect(),
    }
});

impl Patterns {
    /// Returns the first match of each pattern in a text, as its kind and its range.
    pub(super) fn find(&self, text: &str) -> Vec<(FlagKind, std::ops::Range<usize>)> {
        let matched = self.set.matches(text);
        matched
            .iter()
            .filter_map(|at| {
                let (kind, pattern) = &self.each[at];
                Some((*kind, pattern.find(text)?.range()))
            })
            .collect()
    }
}
