mod store {
    pub struct Cart {
        pub n: u64,
    }
    pub trait Priced {
        fn price(&self, k: u64) -> u64;
    }
    impl Priced for Cart {
        #[inline(never)]
        fn price(&self, k: u64) -> u64 {
            self.n * k
        }
    }
    impl Cart {
        #[inline(never)]
        pub fn total(&self, k: u64) -> u64 {
            let t = self.n + k;
            t * 2
        }
    }
    #[inline(never)]
    pub fn most<T: PartialOrd>(a: T, b: T) -> T {
        if a > b {
            return a;
        }
        b
    }
}

use store::Priced;

fn main() {
    let c = store::Cart { n: std::env::args().count() as u64 };
    let f = |k: u64| k + c.n;
    println!("{} {} {} {}", c.total(2), c.price(3), f(4), store::most(1u8, 2u8) as u64 + store::most(3u64, c.n));
}
