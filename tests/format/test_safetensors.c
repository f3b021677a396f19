/* Safetensors headers: what the reference reader accepts is accepted and what it refuses is refused, but for names that
 * stand twice. Verdicts of the cases: the Rust core of safetensors 24b0b28 (0.8.0-dev), SafeTensors::read_metadata, run
 * over the files of tests/data/format/header-cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/limits.h"
#include "support/format.h"

/* ---- the reference's verdicts ---- */

typedef enum verdict {
    ACCEPTED,   /* by the reference and by us */
    STRICTER,   /* accepted by the reference, refused here: duplicates */
    DATA_WRONG, /* refused by the reference; opens here with an error finding */
    REFUSED
} verdict;

typedef struct header_case {
    const char *name;
    verdict verdict;
    tn_status status; /* of the call, or of the finding */
} header_case;

static const header_case cases[] = {
    {"00_empty", REFUSED, TN_EMPTY},                                   /* HeaderTooSmall */
    {"01_7bytes", REFUSED, TN_NOT_WEIGHTS},                            /* HeaderTooSmall; seven zeros */
    {"02_n0", REFUSED, TN_NOT_WEIGHTS},                                /* JSON: EOF; eight zeros */
    {"03_ok", ACCEPTED, TN_OK},
    {"04_n_gt_100M", REFUSED, TN_LIMIT},                               /* HeaderTooLarge */
    {"05_n_eq_100M_short", REFUSED, TN_TRUNCATED},                     /* InvalidHeaderLength */
    {"06_n_u64max", REFUSED, TN_LIMIT},                                /* HeaderTooLarge */
    {"07_n_gt_file", REFUSED, TN_TRUNCATED},                           /* InvalidHeaderLength */
    {"08_empty_obj", ACCEPTED, TN_OK},
    {"09_empty_obj_trailing_ws", ACCEPTED, TN_OK},
    {"10_leading_ws", ACCEPTED, TN_OK},
    {"11_leading_nul_bad", REFUSED, TN_BAD_JSON},
    {"12_trailing_nul", REFUSED, TN_BAD_JSON},
    {"13_array_root", REFUSED, TN_BAD_HEADER},
    {"14_invalid_utf8", REFUSED, TN_BAD_JSON},                         /* InvalidHeader */
    {"15_bom", REFUSED, TN_BAD_JSON},
    {"16_trailing_garbage_in_header", REFUSED, TN_BAD_JSON},
    {"17_extra_data_byte", DATA_WRONG, TN_TRAILING_BYTES},             /* MetadataIncompleteBuffer */
    {"18_missing_data_byte", DATA_WRONG, TN_TRUNCATED},                /* MetadataIncompleteBuffer */
    {"19_hole_start", REFUSED, TN_BAD_LAYOUT},                         /* InvalidOffset */
    {"20_hole_middle", REFUSED, TN_BAD_LAYOUT},
    {"21_overlap", REFUSED, TN_BAD_LAYOUT},
    {"22_same_range_two_names", REFUSED, TN_BAD_LAYOUT},
    {"23_end_lt_start", REFUSED, TN_BAD_LAYOUT},
    {"24_size_mismatch", REFUSED, TN_BAD_LAYOUT},                      /* TensorInvalidInfo */
    {"25_dup_key_same", STRICTER, TN_DUPLICATE},
    {"26_dup_key_diff_last_wins", STRICTER, TN_DUPLICATE},
    {"27_dup_metadata", REFUSED, TN_DUPLICATE},
    {"28_dup_in_metadata", STRICTER, TN_DUPLICATE},
    {"29_metadata_nonstring", REFUSED, TN_BAD_HEADER},
    {"30_metadata_null", ACCEPTED, TN_OK},
    {"31_metadata_nested", REFUSED, TN_BAD_HEADER},
    {"32_metadata_empty", ACCEPTED, TN_OK},
    {"33_unknown_dtype", REFUSED, TN_UNKNOWN_DTYPE},
    {"34_lower_dtype", REFUSED, TN_UNKNOWN_DTYPE},
    {"35_unknown_field", ACCEPTED, TN_OK},
    {"36_missing_field_shape", REFUSED, TN_BAD_HEADER},
    {"37_dup_field", REFUSED, TN_DUPLICATE},
    {"38_neg_shape", REFUSED, TN_BAD_HEADER},
    {"39_float_shape", REFUSED, TN_BAD_HEADER},
    {"40_overflow_shape", REFUSED, TN_OVERFLOW},                       /* ValidationOverflow */
    {"41_overflow_shape_times_dtype", REFUSED, TN_OVERFLOW},
    {"42_zero_dim_overflow", ACCEPTED, TN_OK},
    {"42b_overflow_then_zero", REFUSED, TN_OVERFLOW},
    {"43_scalar", ACCEPTED, TN_OK},
    {"44_zero_size", ACCEPTED, TN_OK},
    {"45_zero_size_mid", ACCEPTED, TN_OK},
    {"46_zero_size_at_bad_offset", REFUSED, TN_BAD_LAYOUT},
    {"47_three_offsets", REFUSED, TN_BAD_HEADER},
    {"48_one_offset", REFUSED, TN_BAD_HEADER},
    {"49_offset_gt_u64", REFUSED, TN_OVERFLOW},
    {"50_misaligned_header_n", ACCEPTED, TN_OK},
    {"51_f4_ok", ACCEPTED, TN_OK},
    {"52_f4_odd", REFUSED, TN_BAD_LAYOUT},                             /* MisalignedSlice */
    {"53_f6_ok", ACCEPTED, TN_OK},
    {"54_f6_bad", REFUSED, TN_BAD_LAYOUT},
    {"55_misaligned_tensor", ACCEPTED, TN_OK},
    {"56_empty_name", ACCEPTED, TN_OK},
    {"57_name_escape", ACCEPTED, TN_OK},
    {"58_lone_surrogate", REFUSED, TN_BAD_JSON},
    {"59_deep_nest_unknown", REFUSED, TN_BAD_JSON},
    {"60_tensor_named_format_str", REFUSED, TN_BAD_HEADER},
    {"61_order_by_offset_not_name", ACCEPTED, TN_OK},
    {"62_info_as_array", ACCEPTED, TN_OK},
    {"63_bool_val2", ACCEPTED, TN_OK},
    {"64_shape_bool", REFUSED, TN_BAD_HEADER},
    {"65_meta_int_key_dupdtype", REFUSED, TN_BAD_HEADER},
    {"66_many_dims", ACCEPTED, TN_OK},
    {"67_size0_file_only_hdr_with_hole", REFUSED, TN_BAD_LAYOUT},
    {"68_comment", REFUSED, TN_BAD_JSON},
    {"69_NaN", REFUSED, TN_BAD_JSON},
    {"70_key_order_meta_last", ACCEPTED, TN_OK},
    {"80_dtype_BOOL", ACCEPTED, TN_OK},
    {"80_dtype_C128", REFUSED, TN_UNKNOWN_DTYPE},
    {"80_dtype_C64", ACCEPTED, TN_OK},
    {"80_dtype_F4_E2M1", REFUSED, TN_UNKNOWN_DTYPE},
    {"80_dtype_F8_E3M4", REFUSED, TN_UNKNOWN_DTYPE},
    {"80_dtype_F8_E4M3", ACCEPTED, TN_OK},
    {"80_dtype_F8_E4M3FN", REFUSED, TN_UNKNOWN_DTYPE},
    {"80_dtype_F8_E4M3FNUZ", ACCEPTED, TN_OK},
    {"80_dtype_F8_E5M2", ACCEPTED, TN_OK},
    {"80_dtype_F8_E5M2FNUZ", ACCEPTED, TN_OK},
    {"80_dtype_F8_E8M0", ACCEPTED, TN_OK},
    {"80_dtype_I4", REFUSED, TN_UNKNOWN_DTYPE},
    {"80_dtype_U16", ACCEPTED, TN_OK},
    {"80_dtype_U4", REFUSED, TN_UNKNOWN_DTYPE},
};

/* What a reader that looks at findings makes of a file: the call's failure, or the first error found. */
static tn_status outcome(tn_context *context, const char *folder, const char *name, tn_status *call)
{
    tn_checkpoint *checkpoint = NULL;
    format_bytes file = format_data(folder, name);
    tn_status status = *call = format_open(context, file.bytes, file.size, name, &checkpoint, NULL);
    if (status == TN_OK) {
        const tn_finding *worst = format_finding(checkpoint, TN_ERROR);
        status = worst != NULL ? worst->status : TN_OK;
    } else {
        assert_null(checkpoint);
    }
    tn_checkpoint_release(checkpoint);
    format_bytes_free(&file);
    return status;
}

static void every_verdict_of_the_reference_is_kept_but_for_duplicates(void **state)
{
    size_t count = sizeof cases / sizeof cases[0], accepted = 0;
    assert_int_equal(count, 86);
    for (size_t i = 0; i < count; i++) {
        char name[80];
        tn_status call = TN_OK;
        snprintf(name, sizeof name, "%s.safetensors", cases[i].name);
        tn_status status = outcome(*state, "header-cases", name, &call);
        if (status != cases[i].status)
            print_error("%s: %s\n", name, tn_status_word(status));
        assert_int_equal(status, cases[i].status);
        assert_int_equal(call == TN_OK, cases[i].verdict == ACCEPTED || cases[i].verdict == DATA_WRONG);
        accepted += cases[i].verdict == ACCEPTED || cases[i].verdict == STRICTER;
    }
    assert_int_equal(accepted, 33); /* the reference accepts 33 of 86 */
}

/* ---- hostile files ---- */

typedef struct attack {
    const char *name;
    bool accept;
    tn_status status;
} attack;

/* Where either answer can be defended, ours is: accepted are white space before the brace, an unknown field, a zero in
 * front of a product that would overflow, and any text as a name; refused are 100,000 dimensions. */
static const attack attacks[] = {
    {"st_7bytes", false, TN_NOT_WEIGHTS},
    {"st_array_top", false, TN_BAD_HEADER},
    {"st_bom", false, TN_BAD_JSON},
    {"st_ctrl", false, TN_BAD_JSON},
    {"st_dtype", false, TN_UNKNOWN_DTYPE},
    {"st_dup_key", false, TN_DUPLICATE},
    {"st_dup_key_escape", false, TN_DUPLICATE},
    {"st_dup_member", false, TN_DUPLICATE},
    {"st_dup_meta", false, TN_DUPLICATE},
    {"st_dup_meta_inner", false, TN_DUPLICATE},
    {"st_empty", false, TN_EMPTY},
    {"st_empty_name", true, TN_OK},
    {"st_exp_off", false, TN_BAD_HEADER},
    {"st_extra", true, TN_OK},
    {"st_f4_half", false, TN_BAD_LAYOUT},
    {"st_float_off", false, TN_BAD_HEADER},
    {"st_hole", false, TN_BAD_LAYOUT},
    {"st_leading_ws", true, TN_OK},
    {"st_len_100000001", false, TN_LIMIT},
    {"st_len_2e63", false, TN_LIMIT},
    {"st_len_gt_file", false, TN_TRUNCATED},
    {"st_len_max", false, TN_LIMIT},
    {"st_len_zero", false, TN_BAD_HEADER},
    {"st_meta_int", false, TN_BAD_HEADER},
    {"st_meta_list", false, TN_BAD_HEADER},
    {"st_missing", false, TN_BAD_HEADER},
    {"st_neg", false, TN_BAD_HEADER},
    {"st_neg_shape", false, TN_BAD_HEADER},
    {"st_notjson", false, TN_BAD_JSON},
    {"st_notutf8", false, TN_BAD_JSON},
    {"st_nul_name", true, TN_OK},
    {"st_nulpad", false, TN_BAD_JSON},
    {"st_overlap", false, TN_BAD_LAYOUT},
    {"st_ovf_bytes", false, TN_OVERFLOW},
    {"st_ovf_shape", false, TN_OVERFLOW},
    {"st_ovf_zero", false, TN_OVERFLOW},
    {"st_rev", false, TN_BAD_LAYOUT},
    {"st_scalar_ok", true, TN_OK},
    {"st_shape_str", false, TN_BAD_HEADER},
    {"st_short", false, TN_TRUNCATED},
    {"st_size_mismatch", false, TN_BAD_LAYOUT},
    {"st_start_hole", false, TN_BAD_LAYOUT},
    {"st_str_off", false, TN_BAD_HEADER},
    {"st_surrogate", false, TN_BAD_JSON},
    {"st_tail", false, TN_TRAILING_BYTES},
    {"st_three_off", false, TN_BAD_HEADER},
    {"st_trailing_ws", true, TN_OK},
    {"st_traversal", true, TN_OK},
    {"st_u65", false, TN_OVERFLOW},
    {"st_zero_ok", true, TN_OK},
    {"st_zero_times_huge", true, TN_OK},
};

static void hostile_headers_are_refused_with_the_fitting_status(void **state)
{
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
        char name[80];
        tn_status call = TN_OK;
        snprintf(name, sizeof name, "%s.safetensors", attacks[i].name);
        tn_status status = outcome(*state, "attacks", name, &call);
        if (status != attacks[i].status)
            print_error("%s: %s\n", name, tn_status_word(status));
        assert_int_equal(status, attacks[i].status);
        assert_int_equal(status == TN_OK, attacks[i].accept);
    }
}

static tn_status open_header(tn_context *context, const char *header, size_t data_size, tn_checkpoint **out,
                             tn_error *err)
{
    format_bytes file = format_safetensors(header, data_size);
    tn_status status = format_open(context, file.bytes, file.size, "x.safetensors", out, err);
    format_bytes_free(&file);
    return status;
}

static void two_hundred_thousand_open_brackets_are_refused_within_a_constant_stack(void **state)
{
    size_t size = 200005;
    char *header = malloc(size + 1);
    tn_error err;
    assert_non_null(header);
    memset(header, '[', size);
    memcpy(header, "{\"a\":", 5);
    header[size] = '\0';
    tn_checkpoint *checkpoint = NULL;
    tn_status status = open_header(*state, header, 0, &checkpoint, &err);
    assert_true(status == TN_BAD_JSON || status == TN_BAD_HEADER);
    free(header);
}

/* A header with one tensor of U8 whose shape is `rank` ones. */
static char *header_of_rank(unsigned rank)
{
    char *header = malloc(2 * (size_t)rank + 100);
    assert_non_null(header);
    size_t at = (size_t)sprintf(header, "{\"a\":{\"dtype\":\"U8\",\"shape\":[");
    for (unsigned i = 0; i < rank; i++)
        at += (size_t)sprintf(header + at, i == 0 ? "1" : ",1");
    sprintf(header + at, "],\"data_offsets\":[0,1]}}");
    return header;
}

static void a_shape_may_have_65536_dimensions_and_not_one_more(void **state)
{
    tn_checkpoint *checkpoint = NULL;
    tn_error err;
    const tn_tensor *tensors = NULL;
    char *header = header_of_rank(TN_RANK_MAX);
    assert_int_equal(TN_RANK_MAX, 65536);
    assert_int_equal(open_header(*state, header, 1, &checkpoint, &err), TN_OK);
    assert_int_equal(tn_checkpoint_tensors(checkpoint, &tensors), 1);
    assert_int_equal(tensors[0].rank, 65536);
    assert_int_equal(tensors[0].shape[65535], 1);
    tn_checkpoint_release(checkpoint);
    free(header);
    header = header_of_rank(TN_RANK_MAX + 1);
    assert_int_equal(open_header(*state, header, 1, &checkpoint, &err), TN_LIMIT);
    assert_string_equal(err.tensor, "a");
    free(header);
}

static void a_header_may_be_100000000_bytes_long(void **state)
{
    size_t size = 100000000;
    char *bytes = malloc(size + 9);
    tn_checkpoint *checkpoint = NULL;
    assert_non_null(bytes);
    memset(bytes + 8, ' ', size);
    memcpy(bytes, "\x00\xe1\xf5\x05\0\0\0\0{}", 10); /* 100,000,000 = 0x05f5e100 */
    assert_int_equal(format_open(*state, bytes, size + 8, "x.safetensors", &checkpoint, NULL), TN_OK);
    assert_int_equal(tn_checkpoint_header_bytes(checkpoint), size + 8);
    tn_checkpoint_release(checkpoint);
    bytes[0] = 1; /* one more */
    assert_int_equal(format_open(*state, bytes, size + 9, "x.safetensors", &checkpoint, NULL), TN_LIMIT);
    free(bytes);
}

/* ---- what is told ---- */

#define TWO "{\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},\"a\":{\"dtype\":\"F32\",\"shape\":[]," \
            "\"data_offsets\":[0,4]},\"__metadata__\":{\"format\":\"pt\",\"x\\ty\":\"\\u00e9\"}}"

static void tensors_come_in_the_order_of_their_bytes_with_all_that_the_header_says(void **state)
{
    tn_checkpoint *checkpoint = NULL;
    const tn_tensor *tensors = NULL;
    const tn_storage *storages = NULL;
    size_t start = 8 + strlen(TWO);
    assert_int_equal(open_header(*state, TWO, 12, &checkpoint, NULL), TN_OK);
    assert_int_equal(tn_checkpoint_tensors(checkpoint, &tensors), 2);
    assert_int_equal(tn_checkpoint_storages(checkpoint, &storages), 2);
    assert_string_equal(tensors[0].name.bytes, "a");
    assert_string_equal(tensors[1].name.bytes, "b");
    assert_int_equal(tensors[0].rank, 0);
    assert_int_equal(tensors[0].elements, 1);
    assert_int_equal(tensors[0].size_bytes, 4);
    assert_int_equal(storages[tensors[0].storage].offset, start);
    assert_int_equal(tensors[1].dtype, TN_F32);
    assert_int_equal(tensors[1].shape[0], 2);
    assert_int_equal(storages[tensors[1].storage].offset, start + 4);
    assert_int_equal(storages[tensors[1].storage].stored_bytes, 8);
    assert_ptr_equal(tn_checkpoint_find(checkpoint, "b", 1), &tensors[1]);
    assert_null(tn_checkpoint_find(checkpoint, "c", 1));
    assert_int_equal(tn_checkpoint_size_bytes(checkpoint), start + 12);
    assert_string_equal(tn_checkpoint_metadata_value(checkpoint, "format").bytes, "pt");
    assert_string_equal(tn_checkpoint_metadata_value(checkpoint, "x\ty").bytes, "\xc3\xa9");
    assert_null(tn_checkpoint_metadata_value(checkpoint, "none").bytes);
    tn_checkpoint_release(checkpoint);
}

static void a_name_may_hold_a_nul_and_is_found_by_its_size(void **state)
{
    tn_checkpoint *checkpoint = NULL;
    format_bytes file = format_data("attacks", "st_nul_name.safetensors");
    assert_int_equal(format_open(*state, file.bytes, file.size, "x.safetensors", &checkpoint, NULL), TN_OK);
    assert_non_null(tn_checkpoint_find(checkpoint, "a\0b", 3));
    assert_null(tn_checkpoint_find(checkpoint, "a", 1));
    tn_checkpoint_release(checkpoint);
    format_bytes_free(&file);
}

static void short_data_names_the_missing_bytes_and_the_tensors_they_belong_to(void **state)
{
    tn_checkpoint *checkpoint = NULL;
    const tn_tensor *tensors = NULL;
    size_t start = 8 + strlen(TWO);
    assert_int_equal(open_header(*state, TWO, 9, &checkpoint, NULL), TN_OK);
    const tn_finding *found = format_finding(checkpoint, TN_ERROR);
    assert_non_null(found);
    assert_int_equal(found->status, TN_TRUNCATED);
    assert_string_equal(found->tensor.bytes, "b");
    assert_int_equal(found->expected, start + 12);
    assert_int_equal(found->found, start + 9);
    assert_non_null(strstr(found->message.bytes, "short by 3 bytes"));
    tn_checkpoint_tensors(checkpoint, &tensors);
    assert_int_equal(tensors[0].flags & TN_TENSOR_SHORT, 0);
    assert_int_equal(tensors[1].flags & TN_TENSOR_SHORT, TN_TENSOR_SHORT);
    tn_checkpoint_release(checkpoint);
}

static void surplus_data_is_told_with_its_size_and_place(void **state)
{
    tn_checkpoint *checkpoint = NULL;
    assert_int_equal(open_header(*state, TWO, 15, &checkpoint, NULL), TN_OK);
    const tn_finding *found = format_finding(checkpoint, TN_ERROR);
    assert_non_null(found);
    assert_int_equal(found->status, TN_TRAILING_BYTES);
    assert_int_equal(found->offset, 8 + strlen(TWO) + 12);
    assert_non_null(strstr(found->message.bytes, "3 bytes too many"));
    tn_checkpoint_release(checkpoint);
}

/* The second key's quote stands at byte 57 of the header. */
static void a_duplicate_names_the_key_and_its_byte(void **state)
{
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]} ,"
                                 "\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8]}}";
    tn_checkpoint *checkpoint = NULL;
    tn_error err;
    assert_int_equal(open_header(*state, header, 8, &checkpoint, &err), TN_DUPLICATE);
    assert_string_equal(err.tensor, "a");
    assert_string_equal(err.file, "x.safetensors");
    assert_int_equal(err.offset, 8 + (size_t)(strstr(header, "\"\\u0061\"") - header));
}

static void an_unknown_field_is_a_warning_that_leaves_the_file_usable(void **state)
{
    tn_checkpoint *checkpoint = NULL;
    static const char header[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"x\":{\"y\":[1]},\"data_offsets\":[0,1]}}";
    assert_int_equal(open_header(*state, header, 1, &checkpoint, NULL), TN_OK);
    const tn_finding *found = format_finding_of(checkpoint, TN_UNKNOWN_FIELD);
    assert_non_null(found);
    assert_int_equal(found->severity, TN_WARNING);
    assert_string_equal(found->tensor.bytes, "a");
    tn_checkpoint_release(checkpoint);
}

/* U8[3] and then F32 at 3: not a multiple of 4, wherever the data begins. */
static void a_tensor_off_its_alignment_is_a_warning_and_a_moved_data_section_a_note(void **state)
{
    static const char off[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
                              "\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[3,7]}}";
    static const char moved[] = "{\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}";
    tn_checkpoint *checkpoint = NULL;
    assert_int_equal(open_header(*state, off, 7, &checkpoint, NULL), TN_OK);
    assert_int_equal(format_finding_of(checkpoint, TN_MISALIGNED)->severity, TN_WARNING);
    assert_string_equal(format_finding_of(checkpoint, TN_MISALIGNED)->tensor.bytes, "b");
    tn_checkpoint_release(checkpoint);
    assert_int_not_equal((8 + strlen(moved)) % 4, 0);
    assert_int_equal(open_header(*state, moved, 4, &checkpoint, NULL), TN_OK);
    assert_int_equal(format_finding_of(checkpoint, TN_MISALIGNED)->severity, TN_NOTE);
    tn_checkpoint_release(checkpoint);
}

static void an_aligned_file_has_no_findings(void **state)
{
    static const char header[] = "{\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}        ";
    tn_checkpoint *checkpoint = NULL;
    const tn_finding *findings = NULL;
    char padded[128];
    snprintf(padded, sizeof padded, "%.*s", (int)(sizeof header - 1 - (sizeof header - 1) % 8), header);
    assert_int_equal(open_header(*state, padded, 4, &checkpoint, NULL), TN_OK);
    assert_int_equal(tn_checkpoint_findings(checkpoint, &findings), 0);
    tn_checkpoint_release(checkpoint);
}

/* Written plainly and written oddly, an entry means the same: the quick way of reading is held to the slow one. */
static void spelling_does_not_change_what_an_entry_means(void **state)
{
    static const char *const headers[] = {
        "{\"a\":{\"dtype\":\"BF16\",\"shape\":[3,5],\"data_offsets\":[0,30]}}",
        "{\"a\": {\"dtype\": \"BF16\", \"shape\": [3, 5], \"data_offsets\": [0, 30]}}",
        "{\"a\":{\"shape\":[3,5],\"data_offsets\":[0,30],\"dtype\":\"BF16\"}}",
        "{\"\\u0061\":{\"d\\u0074ype\":\"B\\u004616\",\"shape\":[3,5],\"data_offsets\":[0,30]}}",
        "{\"a\":[\"BF16\",[3,5],[0,30]]}",
        " \n{\"a\"\t:\r{\"dtype\":\"BF16\",\"shape\":[3,5],\"data_offsets\":[0,30]} } ",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        tn_checkpoint *checkpoint = NULL;
        const tn_tensor *tensors = NULL;
        assert_int_equal(open_header(*state, headers[i], 30, &checkpoint, NULL), TN_OK);
        assert_int_equal(tn_checkpoint_tensors(checkpoint, &tensors), 1);
        assert_string_equal(tensors[0].name.bytes, "a");
        assert_int_equal(tensors[0].dtype, TN_BF16);
        assert_int_equal(tensors[0].rank, 2);
        assert_int_equal(tensors[0].shape[0], 3);
        assert_int_equal(tensors[0].shape[1], 5);
        assert_int_equal(tensors[0].size_bytes, 30);
        tn_checkpoint_release(checkpoint);
    }
}

static void a_dtype_without_letters_is_none(void **state)
{
    tn_checkpoint *checkpoint = NULL;
    static const char header[] = "{\"a\":{\"dtype\":\"\",\"shape\":[],\"data_offsets\":[0,1]}}";
    assert_int_equal(open_header(*state, header, 1, &checkpoint, NULL), TN_UNKNOWN_DTYPE);
}

/* Many tensors, listed backwards: sorted without being slow, each found again. */
static void ten_thousand_tensors_listed_backwards_are_sorted(void **state)
{
    enum { COUNT = 10000 };
    char *header = malloc(COUNT * 80 + 10);
    size_t at = 1;
    assert_non_null(header);
    header[0] = '{';
    for (unsigned i = COUNT; i > 0; i--)
        at += (size_t)sprintf(header + at, "\"t%u\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[%u,%u]}%s", i - 1,
                              2 * (i - 1), 2 * i, i > 1 ? "," : "}");
    tn_checkpoint *checkpoint = NULL;
    const tn_tensor *tensors = NULL;
    const tn_storage *storages = NULL;
    assert_int_equal(open_header(*state, header, 2 * COUNT, &checkpoint, NULL), TN_OK);
    tn_checkpoint_storages(checkpoint, &storages);
    assert_int_equal(tn_checkpoint_tensors(checkpoint, &tensors), COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        char name[16];
        int size = snprintf(name, sizeof name, "t%u", i);
        assert_string_equal(tensors[i].name.bytes, name);
        assert_ptr_equal(tn_checkpoint_find(checkpoint, name, (size_t)size), &tensors[i]);
        assert_int_equal(storages[tensors[i].storage].offset, 8 + at + 2 * i);
    }
    tn_checkpoint_release(checkpoint);
    free(header);
}

static void opening_is_refused_with_numbers_when_the_header_is_over_the_budget(void **state)
{
    (void)state;
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = 1 << 20;
    tn_context *context = NULL;
    tn_checkpoint *checkpoint = NULL;
    tn_error err;
    size_t size = 4 << 20;
    char *bytes = malloc(size + 8);
    assert_non_null(bytes);
    memset(bytes, ' ', size + 8);
    memcpy(bytes, "\0\0\x40\0\0\0\0\0{}", 10); /* 4 MiB */
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    assert_int_equal(format_open(context, bytes, size + 8, "x.safetensors", &checkpoint, &err), TN_OVER_BUDGET);
    assert_int_equal(tn_context_memory(context).used_bytes, 0);
    assert_true(tn_context_memory(context).high_water_bytes <= 1 << 20);
    tn_context_destroy(context);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verdict_of_the_reference_is_kept_but_for_duplicates),
        cmocka_unit_test(hostile_headers_are_refused_with_the_fitting_status),
        cmocka_unit_test(two_hundred_thousand_open_brackets_are_refused_within_a_constant_stack),
        cmocka_unit_test(a_shape_may_have_65536_dimensions_and_not_one_more),
        cmocka_unit_test(a_header_may_be_100000000_bytes_long),
        cmocka_unit_test(tensors_come_in_the_order_of_their_bytes_with_all_that_the_header_says),
        cmocka_unit_test(a_name_may_hold_a_nul_and_is_found_by_its_size),
        cmocka_unit_test(short_data_names_the_missing_bytes_and_the_tensors_they_belong_to),
        cmocka_unit_test(surplus_data_is_told_with_its_size_and_place),
        cmocka_unit_test(a_duplicate_names_the_key_and_its_byte),
        cmocka_unit_test(an_unknown_field_is_a_warning_that_leaves_the_file_usable),
        cmocka_unit_test(a_tensor_off_its_alignment_is_a_warning_and_a_moved_data_section_a_note),
        cmocka_unit_test(an_aligned_file_has_no_findings),
        cmocka_unit_test(spelling_does_not_change_what_an_entry_means),
        cmocka_unit_test(a_dtype_without_letters_is_none),
        cmocka_unit_test(ten_thousand_tensors_listed_backwards_are_sorted),
        cmocka_unit_test(opening_is_refused_with_numbers_when_the_header_is_over_the_budget),
    };
    return cmocka_run_group_tests(tests, format_context_up, format_context_down);
}
