/* The hash map and its hash. P1 and P2 stand in core/map.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/arena.h"
#include "core/map.h"
#include "support/core_memory.h"

static test_memory memory;

static void begin(tn_map *map)
{
    test_memory_init(&memory, UINT64_MAX);
    tn_map_init(map, &memory.source);
}

static void end(tn_map *map)
{
    tn_map_free(map);
    test_memory_assert_clean(&memory);
}

static void an_empty_map_has_nothing(void **state)
{
    (void)state;
    tn_map map;
    begin(&map);
    uint64_t value = 7;
    assert_false(tn_map_get(&map, "a", 1, &value));
    assert_false(tn_map_get_pair(&map, "a", 1, "b", 1, &value));
    assert_false(tn_map_set(&map, "a", 1, 1));
    assert_int_equal(value, 7);
    assert_int_equal(memory.calls, 0);
    end(&map);
    tn_map_free(NULL);
}

static void the_first_value_of_a_key_stays(void **state)
{
    (void)state;
    tn_map map;
    begin(&map);
    bool fresh = false;
    uint64_t existing = 0;
    assert_int_equal(tn_map_put(&map, "weight", 6, 11, &fresh, &existing, NULL), TN_OK);
    assert_true(fresh);
    assert_int_equal(tn_map_put(&map, "weight", 6, 22, &fresh, &existing, NULL), TN_OK);
    assert_false(fresh);
    assert_int_equal(existing, 11);
    assert_int_equal(map.count, 1);
    uint64_t value = 0;
    assert_true(tn_map_get(&map, "weight", 6, &value));
    assert_int_equal(value, 11);
    assert_true(tn_map_set(&map, "weight", 6, 33));
    assert_true(tn_map_get(&map, "weight", 6, &value));
    assert_int_equal(value, 33);
    assert_int_equal(tn_map_put(&map, "weight", 6, 44, NULL, NULL, NULL), TN_OK);
    end(&map);
}

static void keys_are_bytes_of_any_kind_and_length(void **state)
{
    (void)state;
    tn_map map;
    begin(&map);
    static const struct {
        const char *key;
        size_t size;
    } keys[] = {{NULL, 0}, {"\0", 1}, {"\0\0", 2}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"\xFF", 1}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        bool fresh = false;
        assert_int_equal(tn_map_put(&map, keys[i].key, keys[i].size, i, &fresh, NULL, NULL), TN_OK);
        assert_true(fresh);
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        uint64_t value = 99;
        assert_true(tn_map_get(&map, keys[i].key, keys[i].size, &value));
        assert_int_equal(value, i);
    }
    uint64_t value = 99;
    assert_true(tn_map_get(&map, "", 0, &value)); /* no bytes are the same bytes, wherever they are */
    assert_int_equal(value, 0);
    end(&map);
}

enum { MANY = 50000 };

static tn_text many_key(tn_arena *arena, unsigned i)
{
    return tn_arena_format(arena, "model.blocks.%u.attn.%c.weight", i / 4, "qkvo"[i % 4]);
}

static void all_of_many_keys_are_found_and_no_others(void **state)
{
    (void)state;
    tn_map map;
    begin(&map);
    tn_arena arena;
    tn_arena_init(&arena, &memory.source, SIZE_MAX);
    for (unsigned i = 0; i < MANY; i++) {
        tn_text key = many_key(&arena, i);
        bool fresh = false;
        assert_int_equal(tn_map_put(&map, key.bytes, key.size, i, &fresh, NULL, NULL), TN_OK);
        assert_true(fresh);
        assert_true(map.count <= map.capacity / 4 * 3); /* P2 */
    }
    assert_int_equal(map.count, MANY);
    for (unsigned i = 0; i < 2 * MANY; i++) {
        tn_text key = many_key(&arena, i);
        uint64_t value = 0;
        assert_int_equal(tn_map_get(&map, key.bytes, key.size, &value), i < MANY);
        if (i < MANY)
            assert_int_equal(value, i);
    }
    tn_arena_free(&arena);
    end(&map);
}

static void a_name_is_found_behind_a_prefix(void **state)
{
    (void)state;
    tn_map map;
    begin(&map);
    tn_arena arena;
    tn_arena_init(&arena, &memory.source, SIZE_MAX);
    for (unsigned i = 0; i < 200; i++) {
        tn_text key = many_key(&arena, i);
        assert_int_equal(tn_map_put(&map, key.bytes, key.size, i, NULL, NULL, NULL), TN_OK);
    }
    for (unsigned i = 0; i < 200; i++) {
        tn_text key = many_key(&arena, i);
        for (size_t cut = 0; cut <= key.size; cut++) {
            uint64_t value = 999;
            assert_true(tn_map_get_pair(&map, key.bytes, cut, key.bytes + cut, key.size - cut, &value));
            assert_int_equal(value, i);
        }
        uint64_t value = 999;
        assert_false(tn_map_get_pair(&map, "model.", 6, key.bytes, key.size, &value));
        assert_false(tn_map_get_pair(&map, key.bytes, key.size, ".", 1, &value));
        assert_int_equal(value, 999);
    }
    tn_arena_free(&arena);
    end(&map);
}

static void reserved_room_needs_no_more_memory(void **state)
{
    (void)state;
    tn_map map;
    begin(&map);
    assert_int_equal(tn_map_reserve(&map, 1000, NULL), TN_OK);
    assert_int_equal(memory.calls, 1);
    static char keys[1000][4];
    for (unsigned i = 0; i < 1000; i++) {
        keys[i][0] = (char)('a' + i / 100);
        keys[i][1] = (char)('a' + i / 10 % 10);
        keys[i][2] = (char)('a' + i % 10);
        assert_int_equal(tn_map_put(&map, keys[i], 3, i, NULL, NULL, NULL), TN_OK);
    }
    assert_int_equal(memory.calls, 1);
    assert_int_equal(tn_map_reserve(&map, 1000, NULL), TN_OK);
    assert_int_equal(memory.calls, 1);
    end(&map);
}

static void a_table_too_large_for_the_address_space_is_refused(void **state)
{
    (void)state;
    tn_map map;
    begin(&map);
    tn_error err;
    assert_int_equal(tn_map_reserve(&map, SIZE_MAX, &err), TN_OVERFLOW);
    assert_int_equal(err.status, TN_OVERFLOW);
    assert_int_equal(memory.calls, 0);
    end(&map);
}

static void a_map_that_cannot_grow_keeps_what_it_has(void **state)
{
    (void)state;
    tn_map map;
    begin(&map);
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    memory.fail_at = 2;
    bool fresh = false;
    tn_status status = TN_OK;
    unsigned put = 0;
    for (; put < 26 && status == TN_OK; put++)
        status = tn_map_put(&map, letters + put, 1, put, &fresh, NULL, NULL);
    assert_int_equal(status, TN_NO_MEMORY);
    assert_int_equal(map.count, put - 1);
    uint64_t value = 0;
    for (unsigned i = 0; i < put - 1; i++) {
        assert_true(tn_map_get(&map, letters + i, 1, &value));
        assert_int_equal(value, i);
    }
    assert_false(tn_map_get(&map, letters + put - 1, 1, &value));
    end(&map);
}

/* ---- the hash ---- */

/* Lengths on both sides of what is read at a time (16 bytes) and its multiples, cut at every place. */
static void two_runs_hash_as_their_joined_bytes(void **state)
{
    (void)state;
    static char bytes[1100];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 131 >> 3);
    static const size_t sizes[] = {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 255, 256, 257, 272, 273, 512, 513, 1100};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint64_t whole = tn_hash(42, bytes, sizes[s]);
        for (size_t cut = 0; cut <= sizes[s]; cut++)
            assert_int_equal(tn_hash_pair(42, bytes, cut, bytes + cut, sizes[s] - cut), whole);
    }
    assert_int_equal(tn_hash_pair(42, NULL, 0, NULL, 0), tn_hash(42, NULL, 0));
}

static unsigned bits_of(uint64_t x)
{
    unsigned count = 0;
    for (; x != 0; x &= x - 1)
        count++;
    return count;
}

/* A good hash changes each of 64 bits with probability 1/2 when one bit of the key changes: 32 on average, and over
 * the 8 * size changes of one key the mean strays by more than 4 with a probability far below 2^-30. */
static void each_bit_of_a_key_and_its_length_count(void **state)
{
    (void)state;
    for (size_t size = 8; size <= 80; size++) {
        unsigned char key[80];
        for (size_t i = 0; i < size; i++)
            key[i] = (unsigned char)('a' + i % 26);
        uint64_t before = tn_hash(1, key, size);
        unsigned changed = 0;
        for (size_t bit = 0; bit < 8 * size; bit++) {
            key[bit / 8] ^= (unsigned char)(1 << bit % 8);
            uint64_t after = tn_hash(1, key, size);
            assert_int_not_equal(after, before);
            changed += bits_of(after ^ before);
            key[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        assert_in_range(changed, 28 * 8 * size, 36 * 8 * size);
        assert_int_not_equal(tn_hash(1, key, size - 1), before);
    }
}

/* Runs of zeros, whose bytes differ in nothing but their number. */
static void lengths_alone_make_different_hashes(void **state)
{
    (void)state;
    static const char zeros[300];
    static uint64_t hashes[300];
    for (size_t i = 0; i < 300; i++) {
        hashes[i] = tn_hash(5, zeros, i);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(hashes[i], hashes[j]);
    }
}

/* Were a factor of the hash a constant, a key holding it would make the product 0 under every seed. The seed must
 * reach every step: what collides under one seed has no reason to under another. */
static void another_seed_gives_other_hashes(void **state)
{
    (void)state;
    static const char key[] = "double_blocks.0.img_attn.qkv.weight";
    unsigned changed = 0;
    for (unsigned bit = 0; bit < 64; bit++)
        changed += bits_of(tn_hash(0, key, sizeof key) ^ tn_hash(UINT64_C(1) << bit, key, sizeof key));
    assert_in_range(changed, 28 * 64, 36 * 64);
}

static void the_seed_of_the_process_is_kept_and_can_be_replaced(void **state)
{
    (void)state;
    uint64_t first = tn_map_process_seed();
    assert_int_not_equal(first, 0);
    assert_int_equal(tn_map_process_seed(), first);
    tn_map map;
    begin(&map);
    assert_int_equal(map.seed, first);
    assert_int_equal(tn_map_put(&map, "key", 3, 5, NULL, NULL, NULL), TN_OK);
    tn_map_seed_process(first + 1);
    assert_int_equal(tn_map_process_seed(), first + 1);
    uint64_t value = 0;
    assert_true(tn_map_get(&map, "key", 3, &value)); /* a map that is there keeps its own */
    assert_int_equal(value, 5);
    tn_map_seed_process(0);
    assert_int_not_equal(tn_map_process_seed(), 0);
    end(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(the_first_value_of_a_key_stays),
        cmocka_unit_test(keys_are_bytes_of_any_kind_and_length),
        cmocka_unit_test(all_of_many_keys_are_found_and_no_others),
        cmocka_unit_test(a_name_is_found_behind_a_prefix),
        cmocka_unit_test(reserved_room_needs_no_more_memory),
        cmocka_unit_test(a_table_too_large_for_the_address_space_is_refused),
        cmocka_unit_test(a_map_that_cannot_grow_keeps_what_it_has),
        cmocka_unit_test(two_runs_hash_as_their_joined_bytes),
        cmocka_unit_test(each_bit_of_a_key_and_its_length_count),
        cmocka_unit_test(lengths_alone_make_different_hashes),
        cmocka_unit_test(another_seed_gives_other_hashes),
        cmocka_unit_test(the_seed_of_the_process_is_kept_and_can_be_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
