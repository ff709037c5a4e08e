//! AI clients: the settings with which one connects to the endpoint, one file per format, and how
//! long the names of its tools may be.

pub mod standard;
pub mod tool_names;
