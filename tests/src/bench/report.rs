//! How is a figure shown, and does it keep its bound? Pure: knows numbers and words, not where they come from.

use std::fmt::{self, Write as _};

/// What a figure counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// 2^20 bytes.
    Mib,
    /// Things.
    Count,
    /// A ratio.
    Times,
}

/// How a figure is held.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Bound {
    None,
    AtMost(f64),
    AtLeast(f64),
}

/// One thing that was measured, several times.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    what: String,
    servers: usize,
    unit: Unit,
    values: Vec<f64>,
    bound: Bound,
}

impl Figure {
    /// What was measured with how many servers (0 where none matter).
    #[must_use]
    pub fn new(what: &str, servers: usize, unit: Unit, values: Vec<f64>) -> Self {
        Self { what: what.to_owned(), servers, unit, values, bound: Bound::None }
    }

    /// The same with a bound from above, if there is one.
    #[must_use]
    pub fn at_most(self, bound: Option<f64>) -> Self {
        Self { bound: bound.map_or(Bound::None, Bound::AtMost), ..self }
    }

    /// The same with a bound from below.
    #[must_use]
    pub fn at_least(self, bound: f64) -> Self {
        Self { bound: Bound::AtLeast(bound), ..self }
    }

    /// The value in the middle.
    #[must_use]
    pub fn median(&self) -> f64 {
        median(&self.values)
    }

    fn holds(&self) -> bool {
        match self.bound {
            Bound::None => true,
            Bound::AtMost(most) => self.median() <= most,
            Bound::AtLeast(least) => self.median() >= least,
        }
    }

    fn shown(&self, value: f64) -> String {
        match self.unit {
            Unit::Ms => format!("{value:.1} ms"),
            Unit::Mib => format!("{value:.1} MiB"),
            Unit::Count => format!("{value:.0}"),
            Unit::Times => format!("{value:.2} ×"),
        }
    }
}

/// Everything that was measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    figures: Vec<Figure>,
}

impl Report {
    /// Takes a figure in.
    pub fn add(&mut self, figure: Figure) {
        eprintln!("{}, {} servers: {}", figure.what, figure.servers, figure.shown(figure.median()));
        self.figures.push(figure);
    }

    /// The median of a figure that was taken.
    #[must_use]
    pub fn median(&self, what: &str, servers: usize) -> Option<f64> {
        let taken = self.figures.iter().find(|figure| figure.what == what && figure.servers == servers);
        taken.map(Figure::median)
    }

    /// The figures that break their bound, one sentence each.
    #[must_use]
    pub fn broken(&self) -> Vec<String> {
        let broken = self.figures.iter().filter(|figure| !figure.holds());
        broken
            .map(|figure| {
                let (what, servers) = (&figure.what, figure.servers);
                format!("{what}, {servers} servers: {} ({})", figure.shown(figure.median()), bound(figure))
            })
            .collect()
    }
}

/// A table in Markdown.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("| what | servers | median | from – to | bound |\n| --- | --- | --- | --- | --- |\n")?;
        for figure in &self.figures {
            let servers = if figure.servers == 0 { "–".to_owned() } else { figure.servers.to_string() };
            let spread = spread(figure);
            let (what, median) = (&figure.what, figure.shown(figure.median()));
            writeln!(f, "| {what} | {servers} | {median} | {spread} | {} |", bound(figure))?;
        }
        Ok(())
    }
}

fn spread(figure: &Figure) -> String {
    let least = figure.values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figure.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut text = String::new();
    if figure.values.len() > 1 {
        // Writing to a text cannot fail.
        write!(text, "{} – {} ({})", figure.shown(least), figure.shown(most), figure.values.len()).ok();
    }
    text
}

fn bound(figure: &Figure) -> String {
    match figure.bound {
        Bound::None => String::new(),
        Bound::AtMost(most) => format!("at most {}", figure.shown(most)),
        Bound::AtLeast(least) => format!("at least {}", figure.shown(least)),
    }
}

/// The value in the middle; of an even number the mean of the two. Of none: not a number, which keeps no bound.
#[must_use]
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (None, _) => f64::NAN,
        (Some(value), 1) => *value,
        (Some(value), _) => (value + sorted[middle - 1]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(values: &[f64]) -> Figure {
        Figure::new("x", 10, Unit::Ms, values.to_vec())
    }

    #[test]
    fn one_value_far_off_moves_no_median() {
        assert_eq!(median(&[3.0, 1.0, 900.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 900.0]), 3.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_figure_over_its_bound_and_one_that_was_never_taken_are_named() {
        let mut report = Report::default();
        report.add(figure(&[8.0]).at_most(Some(8.0)));
        report.add(figure(&[8.1]).at_most(Some(8.0)));
        report.add(figure(&[2.9]).at_least(3.0));
        report.add(figure(&[]).at_most(Some(8.0)));
        report.add(figure(&[1e9]));
        let broken = report.broken();
        assert_eq!(broken.len(), 3, "{broken:?}");
        assert_eq!(broken[0], "x, 10 servers: 8.1 ms (at most 8.0 ms)");
    }

    #[test]
    fn the_table_has_a_row_for_each_figure() {
        let mut report = Report::default();
        report.add(figure(&[1.0, 2.0, 4.0]).at_most(Some(8.0)));
        let table = report.to_string();
        assert_eq!(table.lines().nth(2), Some("| x | 10 | 2.0 ms | 1.0 ms – 4.0 ms (3) | at most 8.0 ms |"));
    }
}
