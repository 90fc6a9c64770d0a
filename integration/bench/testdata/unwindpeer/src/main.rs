// Looks code offsets up in an __unwind_info section by crate macho-unwind-info:
// unwindpeer SECTION OFFSETS. Each line on standard input is a round; the answer is
// the sum of the encodings found.
use std::io::{BufRead, Write};

fn main() {
    let mut args = std::env::args().skip(1);
    let section = std::fs::read(args.next().expect("section")).expect("section");
    let offsets: Vec<u32> = std::fs::read(args.next().expect("offsets"))
        .expect("offsets")
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let info = macho_unwind_info::UnwindInfo::parse(&section).expect("parse");
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        line.expect("line");
        let mut sum = 0u64;
        for &offset in &offsets {
            let f = info.lookup(offset).expect("lookup").expect("found");
            sum = sum.wrapping_add(u64::from(f.opcode));
        }
        writeln!(out, "{sum}").expect("write");
        out.flush().expect("flush");
    }
}
