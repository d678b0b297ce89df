//! The requests of a table of DynamoDB.

use aws_sdk_dynamodb::types::{
    AttributeValue as SdkValue, BatchStatementRequest, ConditionCheck, Delete, KeysAndAttributes, Put,
    ReturnConsumedCapacity, TransactWriteItem, Update as SdkUpdate,
};
use bytes::Bytes;
use sapwood_core::keys::ItemKey;
use sapwood_core::model::Item;
use sapwood_store::{
    Action, Condition, Found, Page, Query, ReadOptions, Reply, Scan, Scannable, Scanned, Table, TableError, Transacted,
    Update, Write,
};

use crate::errors::{Kind, cancelled, failed_conditions, give_up, statement_error};
use crate::expressions::{Expressions, quoted};
use crate::table::{AnswerLimit, DynamoTable, units};
use crate::values::{from_sdk, sdk_value, to_sdk};

/// Gives a request, or an action of a transaction, a condition and what all of its expressions refer to.
macro_rules! on_condition {
    ($request:expr, $condition:ident, $expressions:ident) => {
        $request
            .set_condition_expression($condition)
            .set_expression_attribute_names($expressions.names())
            .set_expression_attribute_values($expressions.values())
    };
}

impl DynamoTable {
    /// The statement that updates an item if it exists, or deletes one where an attribute has a value.
    fn statement(&self, action: &Action) -> Result<BatchStatementRequest, TableError> {
        let names = self.schema.names();
        let [table, pk, sk] = [&self.name, &names.partition_key, &names.sort_key].map(|name| quoted(name));
        let (verb, set, also) = match action {
            Action::Update { update, .. } => {
                let set = update.set.keys().map(|name| format!(" SET {} = ?", quoted(name)));
                let remove = update.remove.iter().map(|name| format!(" REMOVE {}", quoted(name)));
                (format!("UPDATE {table}{}", set.chain(remove).collect::<String>()), Some(&update.set), None)
            }
            Action::Delete { condition: Condition::Is { name, value: Some(value) }, .. } => {
                (format!("DELETE FROM {table}"), None, Some((format!(" AND {} = ?", quoted(name)), value)))
            }
            Action::Put { .. } | Action::Delete { .. } | Action::Check { .. } => {
                return Err(give_up("no statement can do this"));
            }
        };
        let (and, value) = also.unzip();
        let set = set.into_iter().flat_map(Item::values).cloned().map(sdk_value);
        let keys = [&action.key().pk, &action.key().sk].map(|text| SdkValue::S(text.clone()));
        BatchStatementRequest::builder()
            .statement(format!("{verb} WHERE {pk} = ? AND {sk} = ?{}", and.unwrap_or_default()))
            .set_parameters(Some(set.chain(keys).chain(value.cloned().map(sdk_value)).collect()))
            .build()
            .map_err(|_| give_up("a request can't be built"))
    }

    fn action(&self, action: &Action) -> Result<TransactWriteItem, TableError> {
        let (mut expressions, condition) = self.conditioned(action.condition());
        let (table, item) = (&self.name, TransactWriteItem::builder());
        let built = match action {
            Action::Put { item: put, .. } => {
                let put = Put::builder().table_name(table).set_item(Some(to_sdk(put)));
                on_condition!(put, condition, expressions).build().map(|put| item.put(put))
            }
            Action::Update { key, update, .. } => {
                let changes = expressions.update(update);
                let update = SdkUpdate::builder().table_name(table).set_key(Some(self.key(key)));
                let update = on_condition!(update.set_update_expression(changes), condition, expressions);
                update.build().map(|update| item.update(update))
            }
            Action::Delete { key, .. } => {
                let delete = Delete::builder().table_name(table).set_key(Some(self.key(key)));
                on_condition!(delete, condition, expressions).build().map(|delete| item.delete(delete))
            }
            Action::Check { key, .. } => {
                let check = ConditionCheck::builder().table_name(table).set_key(Some(self.key(key)));
                on_condition!(check, condition, expressions).build().map(|check| item.condition_check(check))
            }
        };
        built.map(|item| item.build()).map_err(|_| give_up("a request can't be built"))
    }

    fn conditioned(&self, condition: &Condition) -> (Expressions, Option<String>) {
        let mut expressions = Expressions::default();
        let condition = expressions.condition(condition, &self.schema.names().partition_key);
        (expressions, condition)
    }
}

impl Table for DynamoTable {
    async fn read_many(&self, keys: &[ItemKey], reading: &ReadOptions) -> Result<Reply<Found>, TableError> {
        let mut expressions = Expressions::default();
        let keys = KeysAndAttributes::builder()
            .set_keys(Some(keys.iter().map(|key| self.key(key)).collect()))
            .consistent_read(reading.strong)
            .set_projection_expression(expressions.projection(reading, &self.schema))
            .set_expression_attribute_names(expressions.names())
            .build()
            .map_err(|_| give_up("a request can't be built"))?;
        let limit = AnswerLimit::of(keys.keys().len());
        let request = self
            .client
            .batch_get_item()
            .request_items(&self.name, keys)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .customize()
            .interceptor(limit);
        let output = self.send(Kind::Read, request.send()).await?;
        let read_units = output.consumed_capacity().iter().map(|capacity| units(Some(capacity))).sum();
        let items = output.responses.unwrap_or_default().into_values().flatten().map(from_sdk).collect();
        let unprocessed = output.unprocessed_keys.unwrap_or_default().into_values().flat_map(|left| left.keys);
        let unprocessed = unprocessed.filter_map(|key| self.found_key(key)).collect();
        Ok(Reply { value: Found { items, unprocessed }, read_units, write_units: 0.0 })
    }

    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        if writes.iter().any(|write| write.row_deletion().is_some()) {
            return Err(give_up("a BatchWriteItem can't have a condition"));
        }
        let body = Bytes::from(self.batch_body(writes).map_err(|_| give_up("a request can't be built"))?);
        let request = self.client.batch_write_item().request_items(&self.name, Vec::new()).customize();
        let request = request.mutate_request(move |request| {
            request.headers_mut().insert("content-length", body.len().to_string());
            *request.body_mut() = body.clone().into();
        });
        let output = self.send(Kind::Write, request.send()).await?;
        let write_units = output.consumed_capacity().iter().map(|capacity| units(Some(capacity))).sum();
        let left = output.unprocessed_items.unwrap_or_default().into_values().flatten();
        let left = left.filter_map(|request| self.left_key(request));
        let left = left.filter_map(|key| writes.iter().find(|write| *write.key() == key).cloned()).collect();
        Ok(Reply { value: left, read_units: 0.0, write_units })
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let (expressions, condition) = self.conditioned(condition);
        let request = self.client.put_item().table_name(&self.name).set_item(Some(to_sdk(item)));
        let request = on_condition!(request, condition, expressions);
        let request = request.return_consumed_capacity(ReturnConsumedCapacity::Total);
        self.send_if(request.send(), |output| output.consumed_capacity()).await
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let (expressions, condition) = self.conditioned(condition);
        let request = self.client.delete_item().table_name(&self.name).set_key(Some(self.key(key)));
        let request = on_condition!(request, condition, expressions);
        let request = request.return_consumed_capacity(ReturnConsumedCapacity::Total);
        self.send_if(request.send(), |output| output.consumed_capacity()).await
    }

    async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<Reply<bool>, TableError> {
        let (mut expressions, condition) = self.conditioned(condition);
        let request = self.client.update_item().table_name(&self.name).set_key(Some(self.key(key)));
        let request = request.set_update_expression(expressions.update(update));
        let request = on_condition!(request, condition, expressions);
        let request = request.return_consumed_capacity(ReturnConsumedCapacity::Total);
        self.send_if(request.send(), |output| output.consumed_capacity()).await
    }

    async fn change_together(&self, actions: &[Action]) -> Result<Reply<Vec<Result<bool, TableError>>>, TableError> {
        let statements = actions.iter().map(|action| self.statement(action)).collect::<Result<_, _>>()?;
        let request = self
            .client
            .batch_execute_statement()
            .set_statements(Some(statements))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let output = self.send(Kind::Write, request.send()).await?;
        let mut answers: Vec<Result<bool, TableError>> =
            output.responses().iter().map(|response| response.error().map_or(Ok(true), statement_error)).collect();
        answers.resize_with(actions.len(), || Err(TableError::unanswered("no answer for a statement")));
        // DynamoDB reports no units if all statements fail. The least is counted then.
        let failed = answers.iter().filter(|answer| matches!(answer, Ok(false))).count();
        let write_units = match output.consumed_capacity() {
            [] => failed as f64,
            capacity => capacity.iter().map(|capacity| units(Some(capacity))).sum(),
        };
        Ok(Reply { value: answers, read_units: 0.0, write_units })
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        let actions = actions.iter().map(|action| self.action(action)).collect::<Result<_, _>>()?;
        let request = self
            .client
            .transact_write_items()
            .set_transact_items(Some(actions))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let request = async {
            match request.send().await {
                Ok(output) => Ok(Ok(output)),
                Err(error) => match (failed_conditions(&error), cancelled(&error)) {
                    (Some(failed), _) if !failed.is_empty() => Ok(Err(Ok(failed))),
                    (_, Some(cancelled)) => Ok(Err(Err(cancelled))),
                    _ => Err(error),
                },
            }
        };
        match self.send(Kind::Write, request).await? {
            Ok(output) => {
                let write_units = output.consumed_capacity().iter().map(|capacity| units(Some(capacity))).sum();
                Ok(Reply { value: Transacted::Done, read_units: 0.0, write_units })
            }
            Err(Ok(failed)) => Ok(Reply { value: Transacted::Failed(failed), read_units: 0.0, write_units: 1.0 }),
            Err(Err(error)) => Err(error),
        }
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        let Query { pk, range, after, limit, descending, reading } = query;
        let names = self.schema.names();
        let mut expressions = Expressions::default();
        let projection = expressions.projection(reading, &self.schema);
        let (partition_key, sort_key) = (expressions.name(&names.partition_key), expressions.name(&names.sort_key));
        let [pk_value, from, to] =
            [pk, &range.from, &range.to].map(|text| expressions.value(SdkValue::S(text.clone())));
        let start = after.as_ref().map(|sk| self.key(&ItemKey::new(pk, sk)));
        let request = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(reading.strong)
            .key_condition_expression(format!("{partition_key} = {pk_value} AND {sort_key} BETWEEN {from} AND {to}"))
            .set_projection_expression(projection)
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .set_exclusive_start_key(start)
            .limit(i32::try_from(*limit).unwrap_or(i32::MAX))
            .scan_index_forward(!descending)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .customize()
            .interceptor(AnswerLimit::of(query.limit));
        let output = self.send(Kind::Read, request.send()).await?;
        let read_units = units(output.consumed_capacity());
        let next = output.last_evaluated_key.and_then(|key| self.found_key(key)).map(|key| key.sk);
        let items = output.items.unwrap_or_default().into_iter().map(from_sdk).collect();
        Ok(Reply { value: Page { items, next }, read_units, write_units: 0.0 })
    }
}

impl Scannable for DynamoTable {
    async fn scan(&self, scan: &Scan) -> Result<Reply<Scanned>, TableError> {
        let Scan { segment, segments, after, limit, reading } = scan;
        let number = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let mut expressions = Expressions::default();
        let projection = expressions.projection(reading, &self.schema);
        let request = self
            .client
            .scan()
            .table_name(&self.name)
            // A scan of one part without parts: dynoxide would sort the whole table for each page of a part.
            .set_segment((*segments > 1).then(|| number(*segment)))
            .set_total_segments((*segments > 1).then(|| number(*segments)))
            .consistent_read(reading.strong)
            .set_projection_expression(projection)
            .set_expression_attribute_names(expressions.names())
            .set_exclusive_start_key(after.as_ref().map(|key| self.key(key)))
            .limit(i32::try_from(*limit).unwrap_or(i32::MAX))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .customize()
            .interceptor(AnswerLimit::of(*limit));
        let output = self.send(Kind::Read, request.send()).await?;
        let read_units = units(output.consumed_capacity());
        let next = output.last_evaluated_key.and_then(|key| self.found_key(key));
        let items = output.items.unwrap_or_default().into_iter().map(from_sdk).collect();
        Ok(Reply { value: Scanned { items, next }, read_units, write_units: 0.0 })
    }
}
