// Rust: generics, closures, traits, iterators, threads, a panic that is caught.
use std::collections::HashMap;
use std::fmt;
use std::thread;

mod shop {
    pub trait Rule {
        fn cost(&self, price: i64) -> i64;
    }
    pub struct Flat(pub i64);
    pub struct Scaled<T>(pub T);
    impl Rule for Flat {
        fn cost(&self, price: i64) -> i64 {
            price + self.0
        }
    }
    impl<T: Copy + Into<f64>> Rule for Scaled<T> {
        fn cost(&self, price: i64) -> i64 {
            (price as f64 * self.0.into()) as i64
        }
    }
    #[inline(never)]
    pub fn total(prices: &[i64], rule: &dyn Rule) -> i64 {
        prices.iter().filter(|p| **p > 3).map(|p| rule.cost(*p)).sum()
    }
}

struct Point<T> {
    x: T,
    y: T,
}

impl<T: fmt::Display> fmt::Display for Point<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

#[inline(never)]
fn sorted(n: u64) -> Vec<u64> {
    let mut v: Vec<u64> = (0..n).map(|x| x * 7919 % 1009).collect();
    v.sort_by(|a, b| b.cmp(a));
    v.sort_unstable_by_key(|x| x ^ 0x55);
    v
}

fn counted(words: &str) -> usize {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for w in words.split_whitespace() {
        *seen.entry(w.to_lowercase()).or_insert(0) += 1;
    }
    seen.values().copied().max().unwrap_or(0)
}

fn main() {
    let n = std::env::args().count() as u64;
    let handles: Vec<_> = (0..3).map(|i| thread::spawn(move || sorted(200 * (i + n)).len())).collect();
    let lengths: usize = handles.into_iter().map(|h| h.join().unwrap()).sum();
    let prices: Vec<i64> = sorted(300).into_iter().map(|x| x as i64).collect();
    let rules: Vec<Box<dyn shop::Rule>> = vec![Box::new(shop::Flat(2)), Box::new(shop::Scaled(1.5f32))];
    let sum: i64 = rules.iter().map(|r| shop::total(&prices, r.as_ref())).sum();
    let caught = std::panic::catch_unwind(move || if n > 1000 { panic!("too many") } else { n }).is_ok();
    println!("{} {} {} {} {}", lengths, sum, counted("a b a C c c"), caught, Point { x: 1, y: n as i32 });
}
