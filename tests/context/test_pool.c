/* The pool of large buffers keeps what pool.h says: apart, aligned, charged, kept within its limit, given up in need. */
#include "support/check.h"

#include <assert.h>
#include <string.h>

#include "context/context.h"

static tn_context *make(uint64_t limit, uint64_t keep)
{
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    tn_context *context = NULL;
    options.memory_limit_bytes = limit;
    options.keep_bytes = keep;
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    return context;
}

static void end(tn_context *context)
{
    tn_context_trim(context);
    assert_int_equal(tn_context_memory(context).used_bytes, 0);
    assert_int_equal(tn_context_memory(context).kept_bytes, 0);
    tn_context_destroy(context);
}

static void buffers_lie_apart_and_aligned_and_hold_what_is_written(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static tn_block blocks[COUNT];
    tn_context *context = make(UINT64_C(1) << 30, 0);
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = 1 + i * i * 211 % 900001;
        assert_int_equal(tn_pool_take(&context->pool, size, &blocks[i], NULL), TN_OK);
        assert_int_equal(blocks[i].size, size);
        assert_int_equal((uintptr_t)blocks[i].bytes % TN_POOL_ALIGN, 0);
        memset(blocks[i].bytes, (int)(i % 251), size);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const uint8_t *bytes = blocks[i].bytes;
        for (size_t b = 0; b < blocks[i].size; b += 61)
            assert_int_equal(bytes[b], i % 251);
        assert_int_equal(bytes[blocks[i].size - 1], i % 251);
        tn_pool_give(&context->pool, &blocks[i]);
    }
    end(context);
}

static void large_buffers_are_regions_in_whole_huge_pages(void **state)
{
    (void)state;
    tn_context *context = make(UINT64_C(1) << 30, 0);
    tn_block block;
    assert_int_equal(tn_pool_take(&context->pool, TN_POOL_SHARED_MAX + 1, &block, NULL), TN_OK);
    assert_int_equal((uintptr_t)block.bytes % TN_OS_HUGE_BYTES, 0);
    assert_in_range(tn_context_memory(context).used_bytes, 10u << 20, (10u << 20) + 200);
    tn_pool_give(&context->pool, &block);
    assert_int_equal(tn_context_memory(context).kept_bytes, 10u << 20);
    end(context);
}

static void no_more_is_kept_than_was_allowed(void **state)
{
    (void)state;
    tn_context *context = make(UINT64_C(1) << 30, 70u << 20);
    tn_block blocks[5];
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(tn_pool_take(&context->pool, 20u << 20, &blocks[i], NULL), TN_OK);
    for (size_t i = 0; i < 5; i++)
        tn_pool_give(&context->pool, &blocks[i]);
    assert_int_equal(tn_context_memory(context).kept_bytes, 60u << 20);
    end(context);
    context = make(UINT64_C(1) << 30, TN_NONE);
    assert_int_equal(tn_pool_take(&context->pool, 20u << 20, &blocks[0], NULL), TN_OK);
    tn_pool_give(&context->pool, &blocks[0]);
    assert_int_equal(tn_context_memory(context).kept_bytes, 0);
    assert_int_equal(tn_context_memory(context).used_bytes, 0);
    end(context);
}

static void kept_memory_goes_before_another_is_refused(void **state)
{
    (void)state;
    tn_context *context = make(UINT64_C(100) << 20, 100u << 20);
    tn_block one, other;
    assert_int_equal(tn_pool_take(&context->pool, 60u << 20, &one, NULL), TN_OK);
    tn_pool_give(&context->pool, &one);
    assert_int_equal(tn_context_memory(context).kept_bytes, 60u << 20);
    assert_int_equal(tn_pool_take(&context->pool, 90u << 20, &other, NULL), TN_OK); /* too different to reuse */
    assert_int_equal(tn_context_memory(context).kept_bytes, 0);
    assert_int_equal(tn_context_memory(context).refused, 0);
    tn_error err;
    assert_int_equal(tn_pool_take(&context->pool, 12u << 20, &one, &err), TN_OVER_BUDGET);
    assert_int_equal(tn_context_memory(context).high_water_bytes <= UINT64_C(100) << 20, 1);
    tn_pool_give(&context->pool, &other);
    end(context);
}

static void a_context_that_is_destroyed_stays_until_its_last_buffer(void **state)
{
    (void)state;
    tn_context *context = make(UINT64_C(1) << 30, 0);
    tn_block block;
    assert_int_equal(tn_pool_take(&context->pool, 1u << 20, &block, NULL), TN_OK);
    tn_context_hold(context);
    tn_context_destroy(context);
    memset(block.bytes, 1, block.size);
    tn_pool_give(&context->pool, &block);
    assert_int_equal(tn_pool_kept(&context->pool), 0); /* closed: nothing is kept */
    tn_context_drop(context);
}

/* ---- many threads ---- */

static void work(void *user, bool helper)
{
    tn_context *context = user;
    (void)helper;
    uint64_t random = (uint64_t)(uintptr_t)&random >> 4;
    tn_block blocks[8] = {{NULL, 0, NULL, NULL, 0}};
    for (unsigned i = 0; i < 3000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        tn_block *block = &blocks[random >> 60 & 7];
        if (block->size > 0) {
            uint8_t *bytes = block->bytes;
            assert(bytes[0] == (uint8_t)block->size && bytes[block->size - 1] == (uint8_t)block->size);
            tn_pool_give(&context->pool, block);
            block->size = 0;
            continue;
        }
        size_t size = 1 + (size_t)(random >> 30) % (i % 16 == 0 ? 9000000 : 200000);
        if (tn_pool_take(&context->pool, size, block, NULL) != TN_OK) {
            block->size = 0;
            continue;
        }
        uint8_t *bytes = block->bytes;
        bytes[0] = bytes[size - 1] = (uint8_t)size;
    }
    for (unsigned i = 0; i < 8; i++)
        if (blocks[i].size > 0)
            tn_pool_give(&context->pool, &blocks[i]);
}

static void many_threads_take_and_give_at_once(void **state)
{
    (void)state;
    tn_context *context = make(UINT64_C(300) << 20, 100u << 20);
    tn_context_together(context, 5, work, context);
    end(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_lie_apart_and_aligned_and_hold_what_is_written),
        cmocka_unit_test(large_buffers_are_regions_in_whole_huge_pages),
        cmocka_unit_test(no_more_is_kept_than_was_allowed),
        cmocka_unit_test(kept_memory_goes_before_another_is_refused),
        cmocka_unit_test(a_context_that_is_destroyed_stays_until_its_last_buffer),
        cmocka_unit_test(many_threads_take_and_give_at_once),
    };
    return cmocka_run_group_tests_name("context.pool", tests, NULL, NULL);
}
