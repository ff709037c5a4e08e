//! Client configs: what an AI client needs to find the door. One file a format.

pub mod standard;
