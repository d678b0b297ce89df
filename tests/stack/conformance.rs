//! What the fan-out takes DynamoDB to do, tried on every engine there is.
//!
//! The simulation says something about DynamoDB as far as its table behaves like DynamoDB, and `sapwood dev` as far as
//! the embedded engine does. Amazon's own DynamoDB Local is the judge; its tests are ignored where it isn't installed.

mod batches;
mod conditions;
mod limits;
mod queries;
mod streams;
mod support;
mod transactions;
mod updates;
mod values;

/// Each case on each engine.
macro_rules! on_every_engine {
    ($($file:ident { $($case:ident)* })*) => {
        mod simulated {
            $($(#[tokio::test]
            async fn $case() {
                super::$file::$case(&sapwood_tests::conformance::Simulated::new().await).await;
            })*)*
        }

        mod embedded {
            $($(#[tokio::test]
            async fn $case() {
                super::$file::$case(&sapwood_tests::conformance::OnEngine::embedded().await).await;
            })*)*
        }

        mod dynamodb_local {
            $($(#[tokio::test]
            #[ignore = "needs DynamoDB Local: .ci/tools dynamodb-local"]
            async fn $case() {
                super::$file::$case(&sapwood_tests::conformance::OnEngine::dynamodb_local().await).await;
            })*)*
        }
    };
}

on_every_engine! {
    conditions {
        a_put_is_done_where_its_condition_holds
        a_delete_is_done_where_its_condition_holds
        a_set_is_done_where_its_condition_holds
        a_set_leaves_the_other_attributes_alone_and_makes_an_item_where_none_is
    }
    batches {
        a_batch_get_finds_what_is_there_and_leaves_out_what_is_not
        a_batch_get_that_is_empty_too_long_or_names_a_key_twice_is_no_fault_of_an_item
        a_large_answer_to_a_batch_get_counts_as_none_and_fewer_keys_are_answered_whole
        a_batch_write_puts_and_deletes_25_items
        a_batch_write_that_is_empty_too_long_or_names_a_key_twice_is_refused
        a_batch_write_with_one_impossible_item_is_refused_whole
        requests_say_what_they_consumed
    }
    limits {
        keys_at_their_limits_are_accepted_and_beyond_them_refused
        no_item_that_is_counted_as_fitting_is_refused
        an_item_over_400_kilobytes_is_refused_however_it_is_written
    }
    values {
        every_type_of_value_comes_back_as_it_was_written
        sets_come_back_sorted
        numbers_come_back_in_one_spelling
        values_that_dynamodb_has_not_are_refused
        keys_that_look_alike_are_different_keys
    }
    queries {
        a_query_answers_in_the_order_of_bytes
        a_query_has_both_ends_of_its_range_and_no_other_partition
        a_query_goes_on_after_any_sort_key_in_both_directions
        a_query_says_where_to_go_on_as_soon_as_its_limit_is_reached
        a_page_ends_at_a_megabyte
        a_query_that_makes_no_sense_is_no_fault_of_an_item
    }
    transactions {
        a_transaction_does_all_of_its_actions
        a_transaction_of_which_a_condition_fails_does_nothing_and_says_which
        a_transaction_has_up_to_100_actions_on_distinct_items
        a_transaction_with_one_impossible_item_is_refused_whole
        a_read_of_some_attributes_returns_them_and_the_key
        an_eventual_read_costs_half_of_a_strong_one
    }
    updates {
        updates_of_items_that_exist_are_done_and_no_other_item_is_made
        an_update_sets_and_removes_attributes_of_any_name_and_type
        updates_that_are_none_too_many_or_name_an_item_twice_are_refused
        an_update_that_is_refused_leaves_the_others_alone
        updates_that_share_a_request_cost_as_much_as_by_themselves
        each_update_makes_a_record_of_its_own
        deletions_that_share_a_request_are_done_only_where_their_conditions_hold
        numbers_are_added_to_exactly_and_where_there_is_none_from_zero
        what_is_no_number_is_not_added_to
    }
    streams {
        every_change_makes_a_record_with_both_images_in_the_order_of_its_item
        a_write_that_changes_nothing_makes_no_record
        a_condition_that_fails_makes_no_record
    }
}
