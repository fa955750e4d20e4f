//! The fold, its clashes, its filters and its differences.

use serde_json::json;

use super::*;
use crate::{
    domain::View,
    inventory::{Inventory, Listing, Tool},
};

fn inventory(tools: &[&str]) -> Inventory {
    let tools = tools.iter().map(|name| {
        Arc::new(Tool {
            name: (*name).to_owned(),
            description: None,
            input_schema: Arc::new(json!({"type": "object"})),
            raw: json!({"name": name}),
        })
    });
    Inventory { tools: Listing::Listed(tools.collect()), ..Inventory::empty() }
}

fn offer(server: &str, tools: &[&str], view: &View) -> Offer {
    Offer::of(&server.into(), &inventory(tools), view)
}

fn names(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.tools.keys().map(|name| &**name).collect()
}

#[test]
fn filters_let_through_what_their_table_says() {
    let all = None;
    let some = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
    for (include, exclude, passes) in [
        (all, vec![], vec!["a", "b"]),
        (some(&[]), vec![], vec![]),
        (some(&["a"]), vec![], vec!["a"]),
        (some(&["a(x, y)"]), vec![], vec!["a"]),
        (some(&["a"]), vec!["a"], vec![]),
        (None, vec!["a(x)"], vec!["b"]),
        (some(&["c"]), vec![], vec![]),
    ] {
        let exclude: Vec<String> = exclude.into_iter().map(str::to_owned).collect();
        let view = View { include_tools: include, exclude_tools: exclude, ..View::default() };
        let offer = offer("s", &["a", "b"], &view);
        let left: Vec<&str> = offer.tools.iter().map(|tool| tool.tool.as_str()).collect();
        assert_eq!(left, passes, "{view:?}");
    }
}

#[test]
fn the_catalogue_is_the_same_in_every_order_of_connecting() {
    let (a, b) = (offer("a", &["x", "y"], &View::default()), offer("b", &["x"], &View::default()));
    let forward = Catalogue::fold([&a, &b].into_iter());
    assert_eq!(forward, Catalogue::fold([&b, &a].into_iter()));
    assert_eq!(names(&forward), ["mcp__a__x", "mcp__a__y", "mcp__b__x"]);
}

#[test]
fn two_pairs_under_one_name_are_both_left_out_and_reported() {
    let mut a = offer("a", &["x", "y"], &View::default());
    let mut b = offer("b", &["z"], &View::default());
    // No two pairs are known whose digests meet, so the meeting is made by hand.
    let tool = CatalogueTool { name: Arc::clone(&a.tools[0].name), ..(*b.tools[0]).clone() };
    b.tools = vec![Arc::new(tool)];
    let catalogue = Catalogue::fold([&a, &b].into_iter());
    assert_eq!((names(&catalogue), catalogue.clashes.len()), (vec!["mcp__a__y"], 1));
    a.tools.rotate_left(1);
    assert_eq!(catalogue, Catalogue::fold([&b, &a].into_iter()));
}

#[test]
fn a_tool_listed_twice_by_its_server_counts_once() {
    let catalogue = Catalogue::fold([offer("a", &["x", "x"], &View::default())].iter());
    assert_eq!(names(&catalogue), ["mcp__a__x"]);
}

#[test]
fn the_difference_names_what_came_went_and_changed() {
    let old = Catalogue::fold([offer("a", &["gone", "kept", "other"], &View::default())].iter());
    let mut newer = offer("a", &["kept", "new", "other"], &View::default());
    let other = CatalogueTool { description: Some("now with words".to_owned()), ..(*newer.tools[2]).clone() };
    newer.tools[2] = Arc::new(other);
    let change = old.change_to(&Catalogue { revision: 7, ..Catalogue::fold([newer].iter()) });
    let owned = |name: &str| vec![name.to_owned()];
    let tools = Delta {
        added: owned("mcp__a__new"),
        removed: owned("mcp__a__gone"),
        changed: owned("mcp__a__other"),
    };
    assert_eq!(change, CatalogueChange { revision: 7, tools, ..CatalogueChange::default() });
}
