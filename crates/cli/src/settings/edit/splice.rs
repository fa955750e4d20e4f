//! Which bytes of a text change when an item joins or leaves an object or a list? It knows commas, lines and comments
//! and nothing of what the items say.

use std::ops::Range;

use super::layout::{BLANKS, Layout, Style};

/// One replacement in a text.
#[derive(Clone, Debug)]
pub(super) struct Splice {
    range: Range<usize>,
    with: String,
}

impl Splice {
    pub(super) fn replace(range: Range<usize>, with: impl Into<String>) -> Self {
        Self { range, with: with.into() }
    }

    fn put(at: usize, with: impl Into<String>) -> Self {
        Self::replace(at..at, with)
    }

    fn cut(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }
}

/// The text with the replacements made. They do not overlap; of two at one place the first stands first.
pub(super) fn spliced(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.range.start);
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for splice in splices {
        out.push_str(text.get(at..splice.range.start).unwrap_or_default());
        out.push_str(&splice.with);
        at = splice.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// An object or a list by its offsets.
pub(super) struct Container {
    kind: Kind,
    /// Behind the opening bracket.
    open: usize,
    /// The closing bracket.
    close: usize,
    /// Where the property begins whose value it is; `None` for the root.
    owner: Option<usize>,
    items: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Object,
    List,
}

impl Container {
    pub(super) fn object(start: usize, end: usize, owner: Option<usize>, items: Vec<(usize, usize)>) -> Self {
        Self { kind: Kind::Object, open: start + 1, close: end.saturating_sub(1), owner, items }
    }

    pub(super) fn list(start: usize, end: usize, owner: Option<usize>, items: Vec<(usize, usize)>) -> Self {
        Self { kind: Kind::List, ..Self::object(start, end, owner, items) }
    }
}

/// What it takes to put an item behind the last one.
pub(super) fn insert(
    style: &Style<'_>,
    container: &Container,
    item: &dyn Fn(Layout<'_>) -> String,
) -> Vec<Splice> {
    let Some(&(start, end)) = container.items.last() else {
        return vec![insert_first(style, container, item)];
    };
    let comma = style.comma_after(end);
    let after = comma.map_or(end, |comma| comma + 1);
    if !style.starts_line(start) {
        let item = item(Layout::OneLine);
        return vec![match comma {
            Some(_) => Splice::put(after, format!(" {item},")),
            None => Splice::put(after, format!(", {item}")),
        }];
    }
    let indent = style.indent_of(start);
    // A comment on the line of the last item stays with it.
    let at = style.line_tail(after).unwrap_or(after);
    let line = format!("{}{indent}{}", style.newline(), item(Layout::Lines(indent)));
    match comma {
        Some(_) => vec![Splice::put(at, line + ",")],
        None => vec![Splice::put(end, ","), Splice::put(at, line)],
    }
}

fn insert_first(style: &Style<'_>, container: &Container, item: &dyn Fn(Layout<'_>) -> String) -> Splice {
    let Container { kind, open, close, owner, .. } = *container;
    let inside = &style.text()[open..close];
    let own = style.indent_of(owner.unwrap_or(open));
    let deeper = format!("{own}{}", style.unit());
    let kept = inside.trim_end().len();
    if kept > 0 {
        // Nothing but comments stands there: it goes behind the last of them.
        let at = style.line_tail(open + kept).unwrap_or(open + kept);
        if !inside.contains('\n') {
            return Splice::put(at, format!(" {}", item(Layout::OneLine)));
        }
        let closing = if style.text()[at..close].contains('\n') {
            String::new()
        } else {
            format!("{}{own}", style.newline())
        };
        let item = item(Layout::Lines(&deeper));
        return Splice::put(at, format!("{}{deeper}{item}{closing}", style.newline()));
    }
    let on_lines = match kind {
        Kind::Object => owner.is_none_or(|owner| style.starts_line(owner)),
        Kind::List => inside.contains('\n'),
    };
    let with = match (on_lines, kind) {
        (true, Kind::Object | Kind::List) => {
            let newline = style.newline();
            format!("{newline}{deeper}{}{newline}{own}", item(Layout::Lines(&deeper)))
        }
        (false, Kind::Object) => format!(" {} ", item(Layout::OneLine)),
        (false, Kind::List) => item(Layout::OneLine),
    };
    Splice::replace(open..close, with)
}

/// What it takes to take out one item. A comment on the item's own line goes with it, one on a line of its own stays.
pub(super) fn remove(style: &Style<'_>, container: &Container, index: usize) -> Vec<Splice> {
    let Some(&(start, end)) = container.items.get(index) else { return Vec::new() };
    let text = style.text();
    let comma = style.comma_after(end);
    let after = comma.map_or(end, |comma| comma + 1);
    let is_last = index + 1 == container.items.len();
    let on_its_own_lines = style.starts_line(start)
        && !text[end..after].contains('\n')
        && style.line_tail(after).is_some_and(|tail| !text[after..tail].contains('\n'));
    let cut = if on_its_own_lines {
        let tail = style.line_tail(after).unwrap_or(after);
        style.line_start(start)..style.after_newline(tail)
    } else {
        let rest = &text[after..container.close];
        let behind = after + rest.len() - rest.trim_start_matches(BLANKS).len();
        let before = text[..start].trim_end_matches(BLANKS).len();
        let ends_line = text[behind..].starts_with(['\n', '\r']);
        if is_last {
            before..after
        } else if ends_line {
            before..behind
        } else {
            start..behind
        }
    };
    let left_over = format!("{}{}", &text[container.open..cut.start], &text[cut.end..container.close]);
    if left_over.trim().is_empty() {
        return vec![Splice::cut(container.open..container.close)];
    }
    // The comma that stood between the last two items has nothing behind it any more.
    let dangling = (is_last && comma.is_none())
        .then(|| index.checked_sub(1).and_then(|before| container.items.get(before)))
        .flatten()
        .and_then(|&(_, end)| style.comma_after(end))
        .map(|comma| Splice::cut(comma..comma + 1));
    dangling.into_iter().chain([Splice::cut(cut)]).collect()
}
