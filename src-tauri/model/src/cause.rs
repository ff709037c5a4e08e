//! The cause of an error: another error, with a text that can be masked.

use std::{error::Error, fmt, sync::Arc};

/// Changes a text of an error, for instance to mask secrets in a server's text.
pub type MapText<'a> = &'a dyn Fn(&str) -> String;

/// The cause of an error, and its text for people. The text may contain a server's words. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub struct Cause {
    text: Arc<str>,
    /// `None` if the text was changed, because the source still contains the original text.
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Cause {
    /// Returns a cause with the error's own text.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self {
            text: error.to_string().into(),
            source: Some(Arc::new(error)),
        }
    }

    /// Returns a cause with the text of the innermost source, which is the most specific one.
    pub fn innermost(error: impl Error + Send + Sync + 'static) -> Self {
        let text = sources(&error)
            .last()
            .map_or_else(|| error.to_string(), ToString::to_string);
        Self {
            text: text.into(),
            source: Some(Arc::new(error)),
        }
    }

    /// Returns a cause with the texts of the error and of all its sources, the outermost first.
    /// Omits each text that already occurs in the text before it.
    pub fn chain(error: impl Error + Send + Sync + 'static) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for text in sources(&error).map(ToString::to_string) {
            if texts.last().is_none_or(|last| !last.contains(&text)) {
                texts.push(text);
            }
        }
        Self {
            text: texts.join(": ").into(),
            source: Some(Arc::new(error)),
        }
    }

    /// Returns the cause with its text changed. If the new text differs, the source is dropped.
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        let text = change(&self.text);
        if *text == *self.text {
            return self;
        }
        Self {
            text: text.into(),
            source: None,
        }
    }
}

/// Returns an error and its sources, the outermost first.
pub fn sources<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (**error).source())
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Cause {}
