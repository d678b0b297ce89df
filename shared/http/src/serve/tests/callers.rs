//! Who a caller is, by the claims of each authorizer.

use lambda_http::aws_lambda_events::apigw::ApiGatewayRequestAuthorizer;
use sapwood_api::caller::{Authority, Claims, Right, Scopes};
use sapwood_api::problem::Kind;
use serde_json::json;

use super::super::claims::claims_of;

fn claims(authorizer: serde_json::Value) -> Claims {
    claims_of(&serde_json::from_value::<ApiGatewayRequestAuthorizer>(authorizer).unwrap())
}

fn caller(claim: Option<&str>, authorizer: serde_json::Value) -> Result<(String, Option<String>), Kind> {
    let authority = Authority { tenant_claim: claim.map(str::to_owned), ..Authority::default() };
    let caller = authority.caller(&claims(authorizer), "anonymous").map_err(|problem| problem.kind())?;
    Ok((caller.name, caller.tenant.map(|tenant| tenant.as_str().to_owned())))
}

fn named(name: &str, tenant: Option<&str>) -> Result<(String, Option<String>), Kind> {
    Ok((name.to_owned(), tenant.map(str::to_owned)))
}

#[test]
fn a_jwt_names_its_subject_and_the_tenant_by_any_claim() {
    let jwt = json!({"jwt": {"claims": {"sub": "u1", "custom:tenant": "acme", "username": "eve"}, "scopes": null}});
    assert_eq!(caller(Some("custom:tenant"), jwt.clone()), named("u1", Some("acme")));
    assert_eq!(caller(None, jwt), named("u1", None));
    assert_eq!(caller(None, json!({"jwt": {"claims": {"client_id": "app"}}})), named("app", None));
    assert_eq!(caller(None, json!({"jwt": {"claims": {"sub": "", "username": "eve"}}})), named("eve", None));
}

#[test]
fn an_iam_caller_is_named_by_its_arn() {
    let iam = json!({"iam": {"userArn": "arn:aws:iam::111122223333:user/eve", "accountId": "111122223333"}});
    assert_eq!(caller(Some("accountId"), iam), named("arn:aws:iam::111122223333:user/eve", Some("111122223333")));
    let cognito = json!({"iam": {"cognitoIdentity": {"amr": [], "identityId": "x", "identityPoolId": "pool"}}});
    assert_eq!(caller(Some("cognitoIdentityPoolId"), cognito), named("x", Some("pool")));
}

#[test]
fn texts_numbers_and_flags_of_a_lambda_authorizers_context_are_claims() {
    let context = json!({"lambda": {"sub": "u1", "tenant": 7, "list": ["acme"], "nothing": null}});
    assert_eq!(caller(Some("tenant"), context.clone()), named("u1", Some("7")));
    assert_eq!(caller(Some("list"), context.clone()), Err(Kind::Forbidden));
    assert_eq!(caller(Some("nothing"), context), Err(Kind::Forbidden));
}

#[test]
fn a_jwts_claims_are_not_mixed_with_those_of_other_authorizers() {
    let both = json!({"jwt": {"claims": {"sub": "u1"}}, "lambda": {"tenant": "acme"}, "iam": {"userArn": "arn"}});
    assert_eq!(caller(Some("tenant"), both), Err(Kind::Forbidden));
}

#[test]
fn a_missing_empty_or_impossible_claim_is_refused_and_not_repeated() {
    for value in [json!({}), json!({"tenant": ""}), json!({"tenant": "a#b"}), json!({"tenant": "x".repeat(2_000)})] {
        let authority = Authority { tenant_claim: Some("tenant".to_owned()), ..Authority::default() };
        let problem = authority.caller(&claims(json!({"jwt": {"claims": value}})), "anonymous").unwrap_err();
        assert_eq!(problem.kind(), Kind::Forbidden);
        assert!(!problem.detail().contains("a#b") && problem.detail().len() < 200);
    }
    assert_eq!(caller(Some("tenant"), json!({})), Err(Kind::Forbidden));
    assert_eq!(caller(None, json!({})), named("anonymous", None));
}

/// API Gateway hands a list of a token over as text: its members with spaces between, in brackets.
#[test]
fn scopes_are_told_apart_by_spaces_alone() {
    let scopes = Scopes::parse("read=t/read,write=t/write").unwrap();
    let lacks = |claim: &str| {
        let lacks = scopes.lacking(&claims(json!({"jwt": {"claims": {"scp": claim}}})));
        [Right::Read, Right::Write].map(|right| lacks.include(right))
    };
    assert_eq!(lacks("t/read t/write"), [false, false]);
    assert_eq!(lacks("[t/read t/write]"), [false, false]);
    assert_eq!(lacks("[t/write]"), [true, false]);
    // Each of these is one scope, which is none of the two.
    for other in
        ["t/read,t/write", "[t/read,t/write]", "[[t/read]", "[t/read", "t/read]", "[\"t/read\",\"t/write\"]", "[]", ""]
    {
        assert_eq!(lacks(other), [true, true], "{other}");
    }
}
