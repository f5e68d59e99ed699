//! Texts to measure with: the same in every run, and like real ones where it matters.
//!
//! They are made of words whose frequencies fall as those of a language do, because both compression and a search index
//! depend on it.

/// An endless source of texts.
pub(crate) struct Texts {
    dice: Dice,
    words: Vec<String>,
    /// For each word, how often one of those up to it is said.
    shares: Vec<f64>,
}

impl Texts {
    /// A source that gives the same texts each time it is made with `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        const WORDS: u32 = 30_000;
        // The language is always the same; only what is said in it differs.
        let mut language = Dice(0);
        let words: Vec<String> = (1..=WORDS).map(|rank| make_word(&mut language, rank)).collect();
        let all: f64 = (1..=WORDS).map(|rank| f64::from(rank).recip()).sum();
        let mut sum = 0.0;
        let share_upto = |rank: u32| {
            sum += f64::from(rank).recip();
            sum / all
        };
        let shares = (1..=WORDS).map(share_upto).collect();
        Self { dice: Dice(seed), words, shares }
    }

    /// Sentences of about `bytes` bytes.
    pub(crate) fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            let end = match self.dice.below(12) {
                0 => ". ",
                1 => ", ",
                _ => " ",
            };
            let word = self.word();
            text.push_str(word);
            text.push_str(end);
        }
        text
    }

    /// True once in `count` times.
    pub(crate) fn once_in(&mut self, count: u32) -> bool {
        self.dice.below(count) == 0
    }

    fn word(&mut self) -> &str {
        let share = self.dice.share();
        let rank = self.shares.partition_point(|upto| *upto < share);
        &self.words[rank.min(self.words.len() - 1)]
    }
}

/// Prose and code as people write them: this project's own, read from beginning to end and over again.
#[derive(Default)]
pub(crate) struct RealText {
    source: usize,
    at: usize,
}

impl RealText {
    const SOURCES: [&str; 8] = [
        include_str!("../../../README.md"),
        include_str!("../../../docs/architecture.md"),
        include_str!("../../../docs/glossary.md"),
        include_str!("../../transcript/src/replay.rs"),
        include_str!("../../../LICENSE"),
        include_str!("../../transcript/src/session.rs"),
        include_str!("../../../CONTRIBUTING.md"),
        include_str!("../../store/src/lib.rs"),
    ];

    /// The next `bytes` bytes or so.
    pub(crate) fn next(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 4);
        while text.len() < bytes {
            let source = Self::SOURCES[self.source % Self::SOURCES.len()];
            let end = (self.at + bytes - text.len()).min(source.len());
            let end = (end..=source.len()).find(|end| source.is_char_boundary(*end)).unwrap_or(source.len());
            text.push_str(&source[self.at..end]);
            self.at = end;
            if end == source.len() {
                (self.source, self.at) = (self.source + 1, 0);
            }
        }
        text
    }
}

/// A word that can be spoken; the rarer, the longer.
fn make_word(dice: &mut Dice, rank: u32) -> String {
    let length = 2 + rank.ilog10() + dice.below(4);
    let letters = |index: u32| if index.is_multiple_of(2) { "bcdfghklmnprstvwz" } else { "aeiou" };
    (0..length).filter_map(|index| dice.pick(letters(index))).collect()
}

/// Random numbers, by `SplitMix64`.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn half(&mut self) -> u32 {
        u32::try_from(self.next() >> 32).unwrap_or(u32::MAX)
    }

    /// A number below `end`.
    fn below(&mut self, end: u32) -> u32 {
        self.half() % end
    }

    /// A number from 0 to 1.
    fn share(&mut self) -> f64 {
        f64::from(self.half()) / f64::from(u32::MAX)
    }

    fn pick(&mut self, letters: &str) -> Option<char> {
        let count = u32::try_from(letters.len()).ok()?;
        letters.chars().nth(self.below(count) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_text_goes_on_for_ever() {
        let mut text = RealText::default();
        let all: usize = (0..2_000).map(|_| text.next(400).len()).sum();
        assert!((800_000..810_000).contains(&all), "{all}");
    }

    #[test]
    fn texts_are_the_same_each_time_and_as_long_as_asked() {
        let text = Texts::new(7).text(400);
        assert_eq!(text, Texts::new(7).text(400));
        assert_ne!(text, Texts::new(8).text(400));
        assert!((400..420).contains(&text.len()), "{text}");
    }
}
