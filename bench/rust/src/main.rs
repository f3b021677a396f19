//! The safetensors crate's side of bench/run.py: each round prints its nanoseconds on a line.
//!
//! `peer parse FILE ROUNDS`: `SafeTensors::read_metadata` over a file that is mapped already.
//! `peer open FILE ROUNDS`: open the file, map it, read its metadata, list the names; and let all of it go.

use memmap2::{Mmap, MmapOptions};
use safetensors::SafeTensors;
use std::{env, fs::File, process::exit, time::Instant};

fn map(path: &str) -> Mmap {
    let file = File::open(path).expect("the file opens");
    unsafe { MmapOptions::new().map(&file).expect("the file can be mapped") }
}

fn names(bytes: &[u8]) -> usize {
    let (_, metadata) = SafeTensors::read_metadata(bytes).expect("a sound header");
    metadata.offset_keys().len()
}

fn parse(bytes: &[u8]) -> usize {
    let (size, _) = SafeTensors::read_metadata(bytes).expect("a sound header");
    size
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if arguments.len() != 4 {
        eprintln!("usage: peer parse|open FILE ROUNDS");
        exit(2);
    }
    let rounds: usize = arguments[3].parse().expect("a number of rounds");
    let mapped = map(&arguments[2]);
    let mut sum = names(&mapped);
    for _ in 0..rounds {
        let began = Instant::now();
        sum += match arguments[1].as_str() {
            "parse" => parse(&mapped),
            _ => names(&map(&arguments[2])),
        };
        println!("{}", began.elapsed().as_nanos());
    }
    eprintln!("sum {sum}");
}
