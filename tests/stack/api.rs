//! The contract of the HTTP API (docs/guides, `/openapi.json`), call by call, over a port of this machine and as API
//! Gateway hands requests to the functions. Both must be answered alike.

mod clients;
mod deletes;
mod events;
mod headers;
mod inherit;
mod links;
mod nodes;
mod reads;
mod refusals;
mod representations;
mod revisions;
mod siblings;
mod support;
mod tenants;
mod tokens;
mod trash;
mod values;

/// Each case by each way to the API.
macro_rules! by_every_way {
    ($($file:ident { $($case:ident)* })*) => {
        mod over_http {
            $($(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$file::$case(sapwood_tests::serving::Way::Http).await;
            })*)*
        }

        mod through_api_gateway {
            $($(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$file::$case(sapwood_tests::serving::Way::Gateway).await;
            })*)*
        }
    };
}

by_every_way! {
    nodes {
        a_node_is_created_read_replaced_patched_moved_and_deleted
        a_node_without_an_id_gets_one
        a_patch_leaves_what_it_does_not_name_as_it_is
        a_write_that_waits_is_answered_when_its_rows_are_right
        a_move_that_waits_for_all_below_is_answered_when_they_are_placed
        a_read_with_a_token_shows_what_was_written
        a_batch_is_done_in_order_each_on_its_own
    }
    deletes {
        a_node_with_children_is_not_deleted_unless_it_is_said_what_becomes_of_them
        a_subtree_is_deleted_by_an_operation
        a_deletion_that_is_waited_for_has_ended
        a_node_that_is_being_deleted_says_so
        children_are_adopted
        children_are_detached
        revisions_stay_unless_they_are_to_go
    }
    revisions {
        revisions_are_numbered_read_and_kept
        a_deployment_may_allow_to_amend_and_remove_revisions
        fifty_appends_at_once_give_fifty_consecutive_revisions
        a_repeated_request_with_a_key_is_answered_alike_and_done_once
    }
    reads {
        every_read_is_answered
        a_list_goes_on_with_its_cursor_and_no_other
        what_is_not_there_is_not_found
    }
    links {
        all_customers_who_ordered_a_product_are_one_query_away
    }
    inherit {
        a_move_counts_at_once_for_values_and_grants
    }
    siblings {
        children_and_roots_come_in_their_order
        an_order_that_is_switched_off_is_not_found
    }
    clients {
        several_nodes_are_read_at_once
        a_node_comes_with_its_ancestors_and_newest_revisions
        a_list_links_to_its_next_page
        a_path_is_a_parameter_too
        an_operation_of_a_batch_has_a_condition_of_its_own
        a_repeated_answer_says_so
        operations_are_listed
        a_repeated_batch_is_answered_as_this_client_prefers
        null_in_the_place_of_the_attributes_removes_all
        what_is_below_a_node_that_is_not_there_is_not_found
    }
    tokens {
        a_token_needs_its_scope_and_so_do_the_operations_of_a_batch
        who_may_not_read_is_told_nothing_by_a_write
    }
    representations {
        long_numbers_are_text_for_clients_that_ask
        a_representation_with_numbers_as_text_has_a_tag_of_its_own
        a_compressed_answer_has_a_tag_of_its_own_that_writes_take
        what_is_hard_to_escape_fits_an_answer
        ids_that_look_alike_are_kept_apart
    }
    headers {
        a_write_keeps_to_its_precondition
        head_options_gzip_and_caching
        the_reference_and_the_document_are_served
        the_root_lists_what_there_is
    }
    values {
        any_json_comes_back_as_it_was_sent
        what_foreign_clients_wrote_is_shown_and_kept
        numbers_keep_their_digits
    }
    trash {
        what_is_put_into_the_trash_is_in_no_list_of_live_nodes_and_comes_back_as_it_was
        the_trash_is_listed_newest_first_by_pages_and_emptied_for_good
        a_restoration_that_has_no_way_back_says_which_and_takes_another_parent
        without_the_parameter_nothing_goes_into_the_trash_and_what_is_there_comes_out
        each_tenant_has_a_trash_of_its_own
    }
    refusals {
        every_refusal_has_its_status_and_says_where
        no_answer_repeats_what_others_wrote
    }
    tenants {
        nothing_in_a_request_reaches_another_tenant
        a_caller_without_a_tenant_is_refused
    }
    events {
        ids_of_every_kind_of_byte_are_reached_as_they_are_written
    }
}
