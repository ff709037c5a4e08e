//! Client configs: the settings with which an AI client connects to the endpoint. One file per
//! format.

pub mod standard;
