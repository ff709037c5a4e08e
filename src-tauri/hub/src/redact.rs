//! stub
use std::borrow::Cow;
pub fn json(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}
