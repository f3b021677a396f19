/* The compiler of rules: reads files of rules and writes them as C tables (src/identify/rules.h), so that nothing is
 * parsed when the library starts.
 *
 *   rulec OUT.c FILE.rules...
 * It runs on the machine that builds, also when it builds for another. Test lines are checked and left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "identify/rules_parse.h"

static FILE *out;

static void put_text(tn_text text)
{
    fputs("{\"", out);
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f || c == '?')
            fprintf(out, "\\%03o", c);
        else
            fputc(c, out);
    }
    fprintf(out, "\", %zu}", text.size);
}

static void put_range(tn_range range)
{
    fprintf(out, "{%u, %u}", (unsigned)range.first, (unsigned)range.count);
}

static void put_shape(const tn_shape_rule *shape)
{
    fprintf(out, "{%d, %d, %u, {", shape->given, shape->open, (unsigned)shape->rank);
    for (uint32_t i = 0; i < shape->rank; i++)
        fprintf(out, "{%d, %lluu}, ", (int)shape->dims[i].kind, (unsigned long long)shape->dims[i].value);
    fputs(shape->rank == 0 ? "{0, 0}}}" : "}}", out);
}

static void put_condition(const tn_condition *c)
{
    fprintf(out, "{%d, %d, %d, %d, %d, ", (int)c->kind, (int)c->comparison, c->or_next, c->whole, c->exact);
    put_text(c->name);
    fputs(", ", out);
    put_text(c->value);
    fputs(", ", out);
    put_shape(&c->shape);
    fputs(", ", out);
    put_range(c->left);
    fputs(", ", out);
    put_range(c->right);
    fprintf(out, ", %uu, ", (unsigned)c->variable);
    put_text(c->says);
    fputc('}', out);
}

static void put_step(const tn_step *step)
{
    fprintf(out, "{%d, %lluu}", (int)step->kind, (unsigned long long)step->value);
}

static void put_text_at(const tn_text *text)
{
    put_text(*text);
}

static void put_part(const tn_part_rule *part)
{
    fputc('{', out);
    put_text(part->part);
    fputs(", {", out);
    for (size_t i = 0; i < TN_RULES_SETS_MAX / 64; i++)
        fprintf(out, "%lluu, ", (unsigned long long)part->sets[i]);
    fputs("}}", out);
}

static void put_prediction(const tn_prediction_rule *prediction)
{
    fputc('{', out);
    put_text(prediction->word);
    fputs(", ", out);
    put_text(prediction->sentinel);
    fputc('}', out);
}

static void put_row(const tn_row_rule *row)
{
    const tn_text texts[] = {row->name, row->type, row->base, row->variant, row->says, row->why, row->purpose};
    const tn_range ranges[] = {row->conditions, row->parts,       row->variants,    row->predictions,
                               row->scale,      row->in_channels, row->out_channels};
    fputc('{', out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_text(texts[i]);
        fputs(", ", out);
    }
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        put_range(ranges[i]);
        fputs(", ", out);
    }
    fputc('{', out);
    for (size_t i = 0; i < TN_APP_COUNT; i++) {
        put_text(row->names[i]);
        fputs(", ", out);
    }
    fputs("}}", out);
}

static void put_family(const tn_family *family)
{
    fputc('{', out);
    put_text(family->name);
    fputs(", ", out);
    put_text(family->type);
    fputs(", ", out);
    put_range(family->conditions);
    fputs(", ", out);
    put_range(family->rows);
    fputc('}', out);
}

static void put_prefix(const tn_prefix_rule *prefix)
{
    fputc('{', out);
    put_text(prefix->type);
    fputs(", ", out);
    put_text(prefix->prefix);
    fputc('}', out);
}

static void put_adapter_prefix(const tn_adapter_prefix *prefix)
{
    const tn_text texts[] = {prefix->prefix, prefix->part, prefix->target, prefix->dialect};
    fputc('{', out);
    for (size_t i = 0; i < 4; i++) {
        put_text(texts[i]);
        fputs(i < 3 ? ", " : "}", out);
    }
}

static void put_alias(const tn_alias *alias)
{
    const tn_text texts[] = {alias->word, alias->base, alias->variant};
    fputc('{', out);
    for (size_t i = 0; i < 3; i++) {
        put_text(texts[i]);
        fputs(i < 2 ? ", " : "}", out);
    }
}

static void put_numbers(const uint32_t *numbers)
{
    fputc('{', out);
    for (size_t i = 0; i < TN_RULES_INDICES_MAX; i++)
        fprintf(out, i == 0 ? "%uu" : ", %uu", (unsigned)numbers[i]);
    fputs("}, ", out);
}

static void put_layer(const tn_layer *layer)
{
    fputc('{', out);
    put_text(layer->name);
    fputs(", ", out);
    put_numbers(layer->least);
    put_numbers(layer->most);
    put_shape(&layer->shape);
    fprintf(out, ", %u}", (unsigned)layer->set);
}

static void put_class(const tn_layer_class *class)
{
    fputc('{', out);
    put_text(class->key);
    fputs(", ", out);
    put_range(class->layers);
    fputc('}', out);
}

static void put_slot(const uint32_t *slot)
{
    fprintf(out, "%u", (unsigned)*slot);
}

/* One table: at least one item, since C has no empty arrays. */
#define PUT_TABLE(type, name, items, number, put)                                                                     \
    do {                                                                                                              \
        fprintf(out, "static const " type " " name "[] = {\n");                                                       \
        for (uint32_t item_ = 0; item_ < (number); item_++) {                                                         \
            put(&(items)[item_]);                                                                                     \
            fputs(",\n", out);                                                                                        \
        }                                                                                                             \
        fputs((number) == 0 ? "{0}};\n" : "};\n", out);                                                               \
    } while (0)

static void put_rules(const tn_rules *r)
{
    fputs("/* Made by tools/rulec.c from rules/; not to be edited. */\n#include \"identify/rules.h\"\n\n", out);
    PUT_TABLE("tn_condition", "conditions", r->conditions, r->condition_count, put_condition);
    PUT_TABLE("tn_step", "steps", r->steps, r->step_count, put_step);
    PUT_TABLE("tn_text", "texts", r->texts, r->text_count, put_text_at);
    PUT_TABLE("tn_part_rule", "parts", r->parts, r->part_count, put_part);
    PUT_TABLE("tn_prediction_rule", "predictions", r->predictions, r->prediction_count, put_prediction);
    PUT_TABLE("tn_row_rule", "rows", r->rows, r->row_count, put_row);
    PUT_TABLE("tn_family", "families", r->families, r->family_count, put_family);
    PUT_TABLE("tn_prefix_rule", "prefixes", r->prefixes, r->prefix_count, put_prefix);
    PUT_TABLE("tn_adapter_prefix", "adapter_prefixes", r->adapter_prefixes, r->adapter_prefix_count,
              put_adapter_prefix);
    PUT_TABLE("tn_text", "claims", r->claims, r->claim_count, put_text_at);
    PUT_TABLE("tn_alias", "aliases", r->aliases, r->alias_count, put_alias);
    PUT_TABLE("tn_text", "sets", r->sets, r->set_count, put_text_at);
    PUT_TABLE("tn_layer", "layers", r->layers, r->layer_count, put_layer);
    PUT_TABLE("tn_layer_class", "classes", r->classes, r->class_count, put_class);
    fputs("static const uint32_t class_slots[] = {\n", out);
    for (uint32_t i = 0; i < r->class_slot_count; i++) {
        put_slot(&r->class_slots[i]);
        fputs(i % 16 == 15 ? ",\n" : ", ", out);
    }
    fputs(r->class_slot_count == 0 ? "0};\n" : "};\n", out);
    fputs("const tn_rules tn_rules_built_in = {\n    conditions, steps, texts, parts, predictions, rows, families, "
          "prefixes, adapter_prefixes, claims, aliases, sets, layers, classes, class_slots, NULL,\n",
          out);
    const uint32_t counts[] = {r->condition_count, r->step_count,   r->text_count,   r->part_count,
                               r->prediction_count, r->row_count,   r->family_count, r->prefix_count,
                               r->adapter_prefix_count, r->claim_count, r->alias_count, r->set_count,
                               r->layer_count, r->class_count, r->class_slot_count, 0};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        fprintf(out, "    %u,\n", (unsigned)counts[i]);
    fputs("};\n", out);
}

/* The whole file, in memory that the program keeps to its end. */
static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(TN_RULES_FILE_MAX + 1);
    if (file == NULL || bytes == NULL) {
        fprintf(stderr, "rulec: %s cannot be read\n", path);
        exit(3);
    }
    *size = fread(bytes, 1, TN_RULES_FILE_MAX + 1, file);
    fclose(file);
    return bytes;
}

static void die(const tn_error *err)
{
    fprintf(stderr, "%s: %s\n", err->file, err->message);
    exit(1);
}

static void read_all(tn_rules_pack *pack, int count, char **paths)
{
    tn_error err;
    for (int i = 0; i < count; i++) {
        size_t size;
        char *text = read_file(paths[i], &size);
        if (tn_rules_pack_read(pack, paths[i], text, size, &err) != TN_OK)
            die(&err);
        free(text);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: rulec OUT.c FILE.rules...\n", stderr);
        return 2;
    }
    tn_budget budget;
    tn_budget_init(&budget, UINT64_C(1) << 30);
    tn_memory_source memory = {tn_allocator_system(), &budget};
    tn_error err;
    tn_rules_pack *pack;
    const tn_rules *rules;
    if (tn_rules_pack_create(&memory, &pack, &err) != TN_OK)
        die(&err);
    read_all(pack, argc - 2, argv + 2);
    if (tn_rules_pack_finish(pack, &rules, &err) != TN_OK)
        die(&err);
    out = fopen(argv[1], "wb");
    if (out == NULL) {
        fprintf(stderr, "rulec: %s cannot be written\n", argv[1]);
        return 3;
    }
    put_rules(rules);
    bool written = ferror(out) == 0;
    written = fclose(out) == 0 && written;
    tn_rules_pack_destroy(pack);
    return written ? 0 : 3;
}
