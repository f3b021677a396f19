/* Slices do what NumPy's basic indexing does, on every way to read, and read no more than they need. */
#include "support/weights.h"

#include "format/checkpoint.h"
#include "io/source.h"

#define NONE TN_INDEX_NONE
#define RANGE(start, stop, step) {TN_INDEX_RANGE, start, stop, step}
#define AT(place) {TN_INDEX_AT, place, 0, 0}
#define REST {TN_INDEX_REST, 0, 0, 0}
#define NEW {TN_INDEX_NEW, 0, 0, 0}

static tn_status slice(const tn_checkpoint *checkpoint, const char *name, const tn_index *items, size_t count,
                       uint32_t flags, tn_way way, tn_lease **out, tn_error *err)
{
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.index = items;
    options.index_count = count;
    options.flags = flags;
    options.way = way;
    return tn_lease_named(checkpoint, name, &options, out, err);
}

/* ---- the examples of the NumPy manual ("Indexing on ndarrays", "Basic indexing") ---- */

/* x = np.arange(10): each byte's value is its place. */
typedef struct example {
    tn_index item;
    size_t count;
    uint8_t values[10];
} example;

static const example examples[] = {
    {RANGE(1, 7, 2), 3, {1, 3, 5}},             /* x[1:7:2] */
    {RANGE(-2, 10, NONE), 2, {8, 9}},           /* x[-2:10] */
    {RANGE(-3, 3, -1), 4, {7, 6, 5, 4}},        /* x[-3:3:-1] */
    {RANGE(5, NONE, NONE), 5, {5, 6, 7, 8, 9}}, /* x[5:] */
    {RANGE(NONE, NONE, -1), 10, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
    {RANGE(2, 2, NONE), 0, {0}},
    {RANGE(7, 3, NONE), 0, {0}},
    {RANGE(-100, 3, NONE), 3, {0, 1, 2}},  /* clamped */
    {RANGE(8, 100, NONE), 2, {8, 9}},
    {RANGE(100, -100, -4), 3, {9, 5, 1}},
    {RANGE(NONE, NONE, INT64_MAX), 1, {0}},
    {RANGE(NONE, NONE, -INT64_MAX), 1, {9}},
    {RANGE(INT64_MAX, INT64_MIN + 1, -3), 4, {9, 6, 3, 0}},
    {RANGE(-1, NONE, 7), 1, {9}},
};

static tn_checkpoint *open_places(void)
{
    static const char header[] = "{\"x\":{\"dtype\":\"U8\",\"shape\":[10],\"data_offsets\":[0,10]}}";
    char file[128] = {(char)(sizeof header - 1)};
    memcpy(file + 8, header, sizeof header - 1);
    for (char i = 0; i < 10; i++)
        file[8 + sizeof header - 1 + (size_t)i] = i;
    put_file(at("x.safetensors"), file, 8 + sizeof header - 1 + 10);
    return open_weights(at("x.safetensors"));
}

static void ranges_are_those_of_the_manual(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_places();
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        tn_lease *lease;
        assert_int_equal(slice(checkpoint, "x", &examples[i].item, 1, 0, TN_WAY_AUTOMATIC, &lease, NULL), TN_OK);
        assert_int_equal(lease->rank, 1);
        assert_int_equal(lease->shape[0], examples[i].count);
        assert_memory_equal(lease->data, examples[i].values, examples[i].count);
        tn_lease_release(lease);
    }
    tn_checkpoint_release(checkpoint);
}

static void shapes_are_those_of_the_manual(void **state)
{
    (void)state;
    static const row rows[] = {{"x", TN_U8, 3, {2, 3, 1}}};
    put_tensors(at("x.safetensors"), rows, 1, 1, 0);
    tn_checkpoint *checkpoint = open_weights(at("x.safetensors"));
    tn_lease *lease;
    /* x = np.array([[[1],[2],[3]], [[4],[5],[6]]]); x[..., 0].shape == (2, 3) */
    assert_int_equal(slice(checkpoint, "x", (tn_index[]){REST, AT(0)}, 2, 0, 0, &lease, NULL), TN_OK);
    assert_int_equal(lease->rank, 2);
    assert_int_equal(lease->shape[0] * 10 + lease->shape[1], 23);
    tn_lease_release(lease);
    /* x[:, np.newaxis, :, :].shape == (2, 1, 3, 1) */
    assert_int_equal(slice(checkpoint, "x", (tn_index[]){RANGE(NONE, NONE, NONE), NEW, RANGE(NONE, NONE, NONE)}, 3, 0, 0,
                           &lease, NULL), TN_OK);
    assert_int_equal(lease->rank, 4);
    assert_int_equal(lease->shape[0] * 1000 + lease->shape[1] * 100 + lease->shape[2] * 10 + lease->shape[3], 2131);
    tn_lease_release(lease);
    /* x[1:2].shape == (1, 3, 1); x[1, 2, 0].shape == () */
    assert_int_equal(slice(checkpoint, "x", (tn_index[]){RANGE(1, 2, NONE)}, 1, 0, 0, &lease, NULL), TN_OK);
    assert_int_equal(lease->rank, 3);
    assert_int_equal(lease->shape[0], 1);
    tn_lease_release(lease);
    assert_int_equal(slice(checkpoint, "x", (tn_index[]){AT(1), AT(2), AT(0)}, 3, 0, 0, &lease, NULL), TN_OK);
    assert_int_equal(lease->rank, 0);
    assert_int_equal(lease->elements, 1);
    assert_bytes(lease->data, 1, 1, 5);
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
}

static void what_numpy_refuses_is_refused(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_places();
    static const struct {
        tn_index items[2];
        size_t count;
    } wrong[] = {
        {{AT(10)}, 1},           /* IndexError: out of bounds */
        {{AT(-11)}, 1},
        {{AT(0), AT(0)}, 2},     /* IndexError: too many indices */
        {{REST, REST}, 2},       /* IndexError: one ellipsis */
        {{RANGE(0, 5, 0)}, 1},   /* ValueError: slice step cannot be zero */
        {{{(tn_index_kind)9, 0, 0, 0}}, 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tn_lease *lease = NULL;
        tn_error err;
        assert_int_equal(slice(checkpoint, "x", wrong[i].items, wrong[i].count, 0, 0, &lease, &err), TN_INVALID);
        assert_null(lease);
        assert_string_equal(err.tensor, "x");
    }
    tn_index many[TN_INDEX_MAX + 1];
    for (size_t i = 0; i < TN_INDEX_MAX + 1; i++)
        many[i] = (tn_index)NEW;
    tn_lease *lease;
    assert_int_equal(slice(checkpoint, "x", many, TN_INDEX_MAX - 1, 0, 0, &lease, NULL), TN_OK);
    assert_int_equal(lease->rank, TN_INDEX_MAX);
    tn_lease_release(lease);
    assert_int_equal(slice(checkpoint, "x", many, TN_INDEX_MAX, 0, 0, &lease, NULL), TN_LIMIT);
    assert_int_equal(slice(checkpoint, "x", many, TN_INDEX_MAX + 1, 0, 0, &lease, NULL), TN_LIMIT);
    tn_checkpoint_release(checkpoint);
}

/* ---- random indices, on every way, beside a model that walks element by element ---- */

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

/* The places that a range names, as the Python Library Reference says of s[i:j:k] ("Common Sequence Operations", note
 * 5): i, i+k, i+2k, ... up to but not j; omitted or beyond the ends, they become end values. */
static size_t places_of(const tn_index *item, int64_t size, uint64_t *out)
{
    int64_t k = item->step == NONE ? 1 : item->step, i = item->start, j = item->stop;
    if (i != NONE && i < 0)
        i += size;
    if (j != NONE && j < 0)
        j += size;
    int64_t x = i == NONE ? (k > 0 ? 0 : size - 1) : i, end = j == NONE ? (k > 0 ? size : -1) : j;
    if (k > 0 && x < 0)
        x = 0;
    if (k < 0 && x > size - 1)
        x = size - 1;
    if (k > 0 && end > size)
        end = size;
    if (k < 0 && end < -1)
        end = -1;
    size_t n = 0;
    for (; k > 0 ? x < end : x > end; x += k)
        out[n++] = (uint64_t)x;
    return n;
}

#define ITEMS_MAX 8
#define SIZE_MAX_HERE 4096

/* What an index leaves: for each dimension of the result the places it goes through in one of the tensor's. */
typedef struct model {
    uint32_t rank;
    size_t counts[ITEMS_MAX * 2];
    uint64_t shape[ITEMS_MAX * 2];
    uint64_t offsets[ITEMS_MAX * 2][SIZE_MAX_HERE]; /* in elements of the tensor */
    uint64_t first;
} model;

static void add(model *m, const tn_index *item, uint64_t size, uint64_t stride)
{
    m->counts[m->rank] = places_of(item, (int64_t)size, m->offsets[m->rank]);
    for (size_t i = 0; i < m->counts[m->rank]; i++)
        m->offsets[m->rank][i] *= stride;
    m->shape[m->rank] = m->counts[m->rank];
    m->rank++;
}

static void model_of(const row *r, const tn_index *items, size_t count, model *m)
{
    static const tn_index all = RANGE(NONE, NONE, NONE);
    uint64_t strides[6], stride = 1;
    uint32_t named = 0, d = 0;
    for (uint32_t i = r->rank; i-- > 0; stride *= r->shape[i])
        strides[i] = stride;
    for (size_t i = 0; i < count; i++)
        named += items[i].kind == TN_INDEX_RANGE || items[i].kind == TN_INDEX_AT;
    m->rank = 0;
    m->first = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind == TN_INDEX_NEW) {
            m->counts[m->rank] = 1;
            m->offsets[m->rank][0] = 0;
            m->shape[m->rank++] = 1;
        } else if (items[i].kind == TN_INDEX_AT) {
            m->first += (uint64_t)(items[i].start < 0 ? items[i].start + (int64_t)r->shape[d] : items[i].start) * strides[d];
            d++;
        } else if (items[i].kind == TN_INDEX_RANGE) {
            add(m, &items[i], r->shape[d], strides[d]);
            d++;
        } else {
            for (uint32_t n = r->rank - named; n > 0; n--, d++)
                add(m, &all, r->shape[d], strides[d]);
        }
    }
    for (; d < r->rank; d++)
        add(m, &all, r->shape[d], strides[d]);
}

static int64_t some_place(uint64_t size)
{
    return draw(4) == 0 ? NONE : (int64_t)draw(2 * size + 5) - (int64_t)size - 2;
}

static size_t random_index(const row *r, tn_index *items)
{
    static const int64_t steps[] = {NONE, 1, 1, 2, 3, -1, -2, 5, 1000};
    uint32_t d = 0;
    size_t count = 0;
    bool rest = false;
    while (count < ITEMS_MAX && draw(8) != 0) {
        uint64_t kind = draw(8);
        if (kind == 0)
            items[count++] = (tn_index)NEW;
        else if (kind == 1 && !rest) {
            items[count++] = (tn_index)REST;
            rest = true;
        } else if (d < r->rank && kind < 4 && r->shape[d] > 0) {
            items[count++] = (tn_index)AT((int64_t)draw(2 * r->shape[d]) - (int64_t)r->shape[d]);
            d++;
        } else if (d < r->rank) {
            items[count++] = (tn_index)RANGE(some_place(r->shape[d]), some_place(r->shape[d]), steps[draw(9)]);
            d++;
        }
    }
    /* Items behind an ellipsis count from the end: places drawn for other dimensions may lie outside. */
    return count;
}

/* Whether every place lies in the dimension it falls on once the ellipsis is spread. */
static bool is_in_bounds(const row *r, const tn_index *items, size_t count)
{
    uint32_t named = 0, d = 0;
    for (size_t i = 0; i < count; i++)
        named += items[i].kind == TN_INDEX_RANGE || items[i].kind == TN_INDEX_AT;
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind == TN_INDEX_REST)
            d += r->rank - named;
        if (items[i].kind == TN_INDEX_AT &&
            (items[i].start >= (int64_t)r->shape[d] || items[i].start < -(int64_t)r->shape[d]))
            return false;
        d += items[i].kind == TN_INDEX_RANGE || items[i].kind == TN_INDEX_AT;
    }
    return true;
}

/* Walk the lease by its strides (a view) or in order, beside the model. */
static void compare(const tn_lease *lease, const model *m, const row *r, uint64_t data, bool by_strides)
{
    size_t item = tn_dtype_bits(r->dtype) / 8;
    uint64_t at_[ITEMS_MAX * 2] = {0}, n = 1;
    assert_int_equal(lease->rank, m->rank);
    for (uint32_t i = 0; i < m->rank; i++) {
        assert_int_equal(lease->shape[i], m->shape[i]);
        n *= m->shape[i];
    }
    assert_int_equal(lease->elements, n);
    assert_int_equal(lease->size_bytes, n * item);
    for (uint64_t e = 0; e < n; e++) {
        uint64_t from = m->first;
        int64_t to = by_strides ? 0 : (int64_t)e;
        for (uint32_t i = 0; i < m->rank; i++) {
            from += m->offsets[i][at_[i]];
            to += by_strides ? lease->strides[i] * (int64_t)at_[i] : 0;
        }
        assert_bytes((const char *)lease->data + to * (int64_t)item, item, 7, data + from * item);
        for (uint32_t i = m->rank; i-- > 0 && ++at_[i] == m->shape[i];)
            at_[i] = 0;
    }
}

static const row rows[] = {
    {"a", TN_I8, 3, {5, 4, 3}},     {"b", TN_F16, 4, {3, 2, 5, 4}},  {"c", TN_F32, 2, {17, 9}},
    {"d", TN_I64, 1, {40}},         {"e", TN_F16, 3, {4, 0, 3}},     {"f", TN_F32, 0, {0}},
    {"g", TN_F64, 2, {6, 700}},     {"h", TN_I8, 2, {2000, 7}},      {"i", TN_BF16, 2, {9, 4000}},
    {"j", TN_C64, 3, {3, 3, 3}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void one_random_slice(const tn_checkpoint *checkpoint, size_t number, uint32_t flags, tn_way way)
{
    static model m;
    tn_index items[ITEMS_MAX];
    const row *r = &rows[number];
    size_t count = random_index(r, items);
    tn_lease *lease = NULL;
    tn_error err;
    tn_status status = slice(checkpoint, r->name, count > 0 ? items : NULL, count, flags, way, &lease, &err);
    if (!is_in_bounds(r, items, count)) {
        assert_int_equal(status, TN_INVALID);
        return;
    }
    if (status != TN_OK)
        fail_msg("%s: %s", r->name, err.message);
    model_of(r, items, count, &m);
    bool view = lease->way == TN_WAY_VIEW;
    compare(lease, &m, r, data_at(rows, number), view);
    if (view) {
        tn_lease copied = *lease;
        void *bytes = malloc((size_t)lease->size_bytes + 1);
        assert_int_equal(tn_lease_copy(lease, bytes, (size_t)lease->size_bytes, &err), TN_OK);
        copied.data = bytes;
        compare(&copied, &m, r, data_at(rows, number), false);
        free(bytes);
    }
    tn_lease_release(lease);
}

static void random_slices(const tn_checkpoint *checkpoint, unsigned rounds)
{
    static const struct {
        uint32_t flags;
        tn_way way;
    } ways[] = {{0, TN_WAY_AUTOMATIC}, {TN_LEASE_VIEW, TN_WAY_AUTOMATIC}, {0, TN_WAY_DIRECT}, {0, TN_WAY_THREADS},
                {TN_LEASE_DROP_BEHIND, TN_WAY_READ}, {TN_LEASE_BACKGROUND, TN_WAY_AUTOMATIC}};
    random_state = 20260930;
    for (unsigned i = 0; i < rounds; i++)
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
            one_random_slice(checkpoint, (size_t)draw(ROWS), ways[w].flags, ways[w].way);
}

static void random_slices_are_right_on_every_way(void **state)
{
    (void)state;
    for (unsigned spaces = 0; spaces < 8; spaces += 3) { /* also where nothing is aligned */
        put_tensors(at("a.safetensors"), rows, ROWS, 7, spaces);
        tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
        random_slices(checkpoint, 300);
        tn_checkpoint_release(checkpoint);
    }
}

static void random_slices_are_right_from_memory(void **state)
{
    (void)state;
    char head[8192];
    size_t size = header_of(rows, ROWS, 0, head, sizeof head), data = (size_t)data_at(rows, ROWS);
    char *bytes = malloc(size + data);
    memcpy(bytes, head, size);
    for (size_t i = 0; i < data; i++)
        bytes[size + i] = (char)byte_of(7, i);
    tn_source *source;
    tn_checkpoint *checkpoint;
    assert_int_equal(tn_source_over(context, bytes, size + data, "a.safetensors", &source, NULL), TN_OK);
    assert_int_equal(tn_checkpoint_open_source(source, &checkpoint, NULL), TN_OK);
    tn_source_release(source);
    random_slices(checkpoint, 200);
    tn_checkpoint_release(checkpoint);
    free(bytes);
}

/* ---- how much is read ---- */

static uint64_t read_by(const tn_checkpoint *checkpoint, const tn_index *items, size_t count, tn_lease **lease)
{
    uint64_t before = tn_context_bytes_read(context);
    assert_int_equal(slice(checkpoint, "w", items, count, 0, 0, lease, NULL), TN_OK);
    return tn_context_bytes_read(context) - before;
}

static void a_slice_reads_its_bytes_and_no_more_than_a_page_between_two(void **state)
{
    (void)state;
    static const row big[] = {{"w", TN_F16, 2, {600, 8000}}};
    put_tensors(at("a.safetensors"), big, 1, 3, 0);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    tn_lease *lease;
    assert_int_equal(read_by(checkpoint, (tn_index[]){RANGE(100, 104, NONE)}, 1, &lease), 4 * 16000);
    assert_bytes(lease->data, 64000, 3, 100 * 16000);
    tn_lease_release(lease);
    assert_int_equal(read_by(checkpoint, (tn_index[]){AT(7), AT(9)}, 2, &lease), 2);
    assert_bytes(lease->data, 2, 3, 7 * 16000 + 18);
    tn_lease_release(lease);
    /* A column: each element by itself, as they are 16,000 bytes apart. */
    assert_int_equal(read_by(checkpoint, (tn_index[]){REST, AT(5)}, 2, &lease), 600 * 2);
    for (uint64_t i = 0; i < 600; i++)
        assert_bytes((const char *)lease->data + 2 * i, 2, 3, i * 16000 + 10);
    tn_lease_release(lease);
    /* Every other element: what lies between is read along, the last gap is not. */
    assert_int_equal(read_by(checkpoint, (tn_index[]){AT(0), RANGE(NONE, NONE, 2)}, 2, &lease), 16000 - 2);
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
}

static void long_runs_apart_are_read_as_they_are(void **state)
{
    (void)state;
    static const row big[] = {{"w", TN_I8, 2, {12, 1 << 20}}};
    put_tensors(at("a.safetensors"), big, 1, 3, 0);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    static const tn_way ways[] = {TN_WAY_AUTOMATIC, TN_WAY_READ, TN_WAY_THREADS, TN_WAY_DIRECT};
    for (size_t w = 0; w < 4; w++) {
        tn_lease *lease;
        uint64_t before = tn_context_bytes_read(context);
        assert_int_equal(slice(checkpoint, "w", (tn_index[]){RANGE(NONE, NONE, -2), RANGE(5, 1000005, NONE)}, 2, 0,
                               ways[w], &lease, NULL), TN_OK);
        assert_int_equal(tn_context_bytes_read(context) - before, 6000000);
        for (uint64_t i = 0; i < 6; i++)
            assert_bytes((const char *)lease->data + i * 1000000, 1000000, 3, ((11 - 2 * i) << 20) + 5);
        tn_lease_release(lease);
    }
    tn_checkpoint_release(checkpoint);
}

/* ---- elements of less than a byte ---- */

static void slices_of_packed_elements_fall_on_bytes_or_are_refused(void **state)
{
    (void)state;
    static const row packed[] = {{"w", TN_F4, 2, {6, 8}}, {"x", TN_F6_E2M3, 2, {4, 4}}};
    put_tensors(at("a.safetensors"), packed, 2, 5, 0);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    tn_lease *lease;
    tn_error err;
    assert_int_equal(slice(checkpoint, "w", (tn_index[]){RANGE(NONE, NONE, -1), RANGE(2, 6, NONE)}, 2, 0, 0, &lease, NULL),
                     TN_OK);
    assert_int_equal(lease->size_bytes, 6 * 2);
    assert_null(lease->strides);
    for (uint64_t i = 0; i < 6; i++)
        assert_bytes((const char *)lease->data + 2 * i, 2, 5, (5 - i) * 4 + 1);
    tn_lease_release(lease);
    assert_int_equal(slice(checkpoint, "w", (tn_index[]){REST, RANGE(1, 3, NONE)}, 2, 0, 0, &lease, &err),
                     TN_UNSUPPORTED);
    assert_int_equal(slice(checkpoint, "w", (tn_index[]){REST, AT(0)}, 2, 0, 0, &lease, &err), TN_UNSUPPORTED);
    assert_int_equal(slice(checkpoint, "x", (tn_index[]){AT(2)}, 1, 0, 0, &lease, NULL), TN_OK);
    assert_bytes(lease->data, 3, 5, 24 + 6);
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, weights_setup, weights_teardown)
    const struct CMUnitTest tests[] = {
        TEST(ranges_are_those_of_the_manual),
        TEST(shapes_are_those_of_the_manual),
        TEST(what_numpy_refuses_is_refused),
        TEST(random_slices_are_right_on_every_way),
        TEST(random_slices_are_right_from_memory),
        TEST(a_slice_reads_its_bytes_and_no_more_than_a_page_between_two),
        TEST(long_runs_apart_are_read_as_they_are),
        TEST(slices_of_packed_elements_fall_on_bytes_or_are_refused),
    };
    return cmocka_run_group_tests_name("weights.slice", tests, NULL, NULL);
}
