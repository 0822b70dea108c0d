//! Orders of a shop.
#![deny(missing_docs)]

use std::{collections::HashMap as Map, fmt::{self, Display}};
use crate::money::*;
use super::store::Store;
extern crate serde;

mod lines;
pub(crate) mod tax {
    use super::*;
    pub const RATE: f64 = 0.19;
    pub fn of(amount: Amount) -> Amount { amount.scale(RATE) }
    mod deep { pub struct Leaf; }
}

pub const MAX_LINES: usize = 200;
static TABLE: [&str; 2] = [
    "a", "b",
];
pub type Result<T, E = OrderError> = std::result::Result<T, E>;

/// One order.
#[derive(Debug, Clone)]
pub struct Order<'a, T: Article + 'a, const N: usize>
where
    T: Send,
{
    pub id: String,
    lines: [Line<'a, T>; N],
}
pub struct Wrapper(pub u32);
union Bits { i: u32, f: f32 }

#[derive(thiserror::Error)]
pub enum OrderError {
    #[error("not found: {0}")]
    NotFound(String),
    Other { code: i32 },
}

pub trait Source: Send + Sync {
    type Item: Display;
    const LIMIT: usize = 10;
    fn load(&self, id: &str) -> Result<Self::Item>;
    async fn all<F>(&self, filter: F) -> Vec<Self::Item>
    where
        F: Fn(&Self::Item) -> bool,
    {
        default_all(self, filter).await
    }
}

impl<'a, T: Article, const N: usize> Order<'a, T, N> {
    pub fn new(id: impl Into<String>) -> Self {
        fn helper() {}
        Self { id: id.into(), lines: empty_lines() }
    }
    #[inline]
    pub(crate) unsafe fn get(&self, i: usize /* index */) -> &Line<'a, T> {
        self.lines.get_unchecked(i)
    }
}

impl<T> Source for Cache<T> where T: Display + Send + Sync {
    type Item = T;
    fn load(&self, id: &str) -> Result<T> { self.fetch(id).ok_or_else(|| OrderError::NotFound(id.into())) }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "{}", describe(self)) }
}

macro_rules! line {
    ($a:expr) => { Line::of($a) };
}

extern "C" {
    fn strlen(s: *const u8) -> usize;
}

pub async fn größe<I>(werte: I) -> usize where I: IntoIterator { werte.into_iter().count() }

#[cfg(test)]
mod tests {
    #[test]
    fn adds() { assert_eq!(add(1, 2), 3); }
}
