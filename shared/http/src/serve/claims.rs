//! The claims that an authorizer of API Gateway makes about a caller.

use lambda_http::aws_lambda_events::apigw::{ApiGatewayRequestAuthorizer, ApiGatewayRequestAuthorizerIamDescription};
use sapwood_api::caller::Claims;
use serde_json::Value;

/// Returns the claims of a JWT, the context of a Lambda authorizer, or the fields of an IAM caller.
#[must_use]
pub(super) fn claims_of(authorizer: &ApiGatewayRequestAuthorizer) -> Claims {
    if let Some(jwt) = &authorizer.jwt {
        return jwt.claims.clone().into_iter().collect();
    }
    if let Some(iam) = &authorizer.iam {
        return iam_fields(iam);
    }
    authorizer.fields.iter().filter_map(|(name, value)| Some((name.clone(), as_text(value)?))).collect()
}

fn iam_fields(iam: &ApiGatewayRequestAuthorizerIamDescription) -> Claims {
    let cognito = iam.cognito_identity.as_ref();
    let fields = [
        ("userArn", &iam.user_arn),
        ("userId", &iam.user_id),
        ("callerId", &iam.caller_id),
        ("accountId", &iam.account_id),
        ("principalOrgId", &iam.principal_org_id),
        ("cognitoIdentityId", cognito.map_or(&None, |identity| &identity.identity_id)),
        ("cognitoIdentityPoolId", cognito.map_or(&None, |identity| &identity.identity_pool_id)),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect()
}

/// Returns a claim as text; `None` for a map or a list, which name no caller.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
