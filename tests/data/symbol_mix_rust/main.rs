// As symbol_mix, in Rust: generics, closures, traits and what is inlined of the standard library.
use std::collections::BTreeMap;
use std::fmt;

enum Cell {
    Number(f64),
    Word(String),
    List(Vec<Cell>),
}

impl fmt::Display for Cell {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Cell::Number(number) => write!(out, "{}", number),
            Cell::Word(word) => write!(out, "{:?}", word),
            Cell::List(cells) => cells.iter().try_for_each(|cell| write!(out, "[{}]", cell)),
        }
    }
}

trait Area {
    fn area(&self) -> f64;
}

struct Square(f64);
struct Ring {
    inner: f64,
    outer: f64,
}

impl Area for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl Area for Ring {
    fn area(&self) -> f64 {
        3.14159 * (self.outer.powi(2) - self.inner.powi(2))
    }
}

fn counts_of(texts: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for text in texts {
        for word in text.split(|c: char| !c.is_alphabetic()) {
            *counts.entry(word.to_lowercase()).or_insert(0) += 1;
        }
    }
    counts
}

#[inline(never)]
fn by_count<K: Ord + Clone>(counts: &BTreeMap<K, usize>) -> Vec<(usize, K)> {
    let mut order: Vec<_> = counts.iter().map(|(key, count)| (*count, key.clone())).collect();
    order.sort_by(|a, b| b.cmp(a));
    order
}

fn main() {
    let order = by_count(&counts_of(std::env::args()));
    let shapes: Vec<Box<dyn Area>> = vec![
        Box::new(Square(order.len() as f64)),
        Box::new(Ring { inner: 1.0, outer: order[0].0 as f64 }),
    ];
    let mut cells: Vec<_> = shapes.iter().map(|shape| Cell::Number(shape.area())).collect();
    cells.extend(order.into_iter().map(|(_, word)| Cell::Word(word)));
    println!("{}", Cell::List(cells));
}
