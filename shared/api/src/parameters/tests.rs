#![allow(clippy::unwrap_used)]

use super::*;

fn at<T: std::fmt::Debug>(result: Result<T, Problem>) -> String {
    let problem = result.unwrap_err();
    assert_eq!(problem.kind(), Kind::BadParameter);
    problem.field().unwrap().to_owned()
}

#[test]
fn parameters_are_decoded_as_forms_are() {
    let mut parameters = Parameters::read("&a=b+c%20d%2B&%C3%A9=%F0%9F%8C%B3&empty&x=y=z&").unwrap();
    assert_eq!(parameters.text("a").unwrap(), "b c d+");
    assert_eq!(parameters.text("é").unwrap(), "🌳");
    assert_eq!(parameters.text("empty").unwrap(), "");
    assert_eq!(parameters.text("x").unwrap(), "y=z");
    assert_eq!(parameters.text("a"), None);
    parameters.end().unwrap();
}

#[test]
fn each_type_refuses_other_values_and_names_the_parameter() {
    let read = |query: &str| Parameters::read(query).unwrap();
    assert_eq!(read("limit=1000").number("limit", 1..=1_000).unwrap(), Some(1_000));
    assert_eq!(read("").number("limit", 1..=1_000).unwrap(), None);
    for value in ["0", "1001", "-1", "+1", "1.0", "", "ten", "99999999999999999999", "%201"] {
        assert_eq!(at(read(&format!("limit={value}")).number("limit", 1..=1_000)), "limit", "{value}");
    }
    assert_eq!(read("consistent=true").flag("consistent").unwrap(), Some(true));
    assert_eq!(read("consistent=false").flag("consistent").unwrap(), Some(false));
    for value in ["", "1", "True", "yes"] {
        assert_eq!(at(read(&format!("consistent={value}")).flag("consistent")), "consistent", "{value}");
    }
    assert_eq!(read("order=asc").choice("order", &[("desc", 1), ("asc", 2)]).unwrap(), Some(2));
    let refused = read("order=up").choice("order", &[("desc", 1), ("asc", 2)]).unwrap_err();
    assert_eq!(refused.detail(), "it takes one of `desc`, `asc`");
    assert_eq!(read("fields=a,b").list("fields").unwrap().unwrap(), ["a", "b"]);
    for value in ["", "a,", ",a", "a,,b"] {
        assert_eq!(at(read(&format!("fields={value}")).list("fields")), "fields", "{value}");
    }
}

#[test]
fn unknown_and_repeated_parameters_are_refused() {
    let mut parameters = Parameters::read("limit=1&limti=2").unwrap();
    parameters.text("cursor");
    parameters.number("limit", 1..=10).unwrap();
    let refused = parameters.end().unwrap_err();
    assert_eq!((refused.field(), refused.kind()), (Some("limti"), Kind::BadParameter));
    assert!(refused.detail().contains("`cursor`, `limit`"), "{refused}");
    for query in ["a=1&a=1&b=1", "a=1&%61=2"] {
        let mut parameters = Parameters::read(query).unwrap();
        assert_eq!(
            (parameters.text("a").unwrap(), parameters.text("b")),
            ("1".to_owned(), query.strip_prefix("a=1&a=1&b=").map(str::to_owned))
        );
        let refused = parameters.end().unwrap_err();
        assert_eq!((refused.field(), refused.detail()), (Some("a"), "it is given more than once"));
    }
    let mut several = Parameters::read("ids=b&ids=a&ids=b").unwrap();
    assert_eq!(
        (several.texts("ids"), several.texts("other")),
        (vec!["b".to_owned(), "a".to_owned(), "b".to_owned()], vec![])
    );
    several.end().unwrap();
    assert_eq!(at(Parameters::read("=1").unwrap().end()), "");
    assert_eq!(at(Parameters::read(&format!("{}=1", "x".repeat(500))).unwrap().end()).len(), 100);
}

#[test]
fn bad_percent_encoding_is_refused() {
    for query in ["a=%", "a=%2", "a=%zz", "a=%FF", "a=%C3"] {
        assert_eq!(at(Parameters::read(query)), "a", "{query}");
    }
    assert_eq!(at(Parameters::read("%=1")), "");
}

#[test]
fn the_next_page_has_the_same_question_and_another_cursor() {
    let link = |query: &str| {
        Parameters::read(query).unwrap().next_page().link("AY-z_5").map(|link| link.to_str().unwrap().to_owned())
    };
    for (query, wanted) in [
        ("", "<?cursor=AY-z_5>; rel=\"next\""),
        ("limit=2&&fields=a%26b", "<?limit=2&fields=a%26b&cursor=AY-z_5>; rel=\"next\""),
        ("cursor=old&limit=2&%63ursor=older", "<?limit=2&cursor=AY-z_5>; rel=\"next\""),
    ] {
        assert_eq!(link(query).as_deref(), Some(wanted));
    }
    // What would end the reference, or be too long for a header, isn't repeated.
    assert_eq!(link("a=>,<b"), None);
    assert_eq!(link(&format!("a={}", "x".repeat(4_096))), None);
}
