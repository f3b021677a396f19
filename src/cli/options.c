/* The tables of verbs and options (cli/options.h), and how a row is found. */
#include "cli/options.h"

#include <string.h>

#define FOR(verb) (1u << TN_VERB_##verb)

const tn_verb tn_verb_table[] = {
    {TN_VERB_IMPORT, "import", "PATH...", TN_ARGUMENT_PATHS, NULL, 1, SIZE_MAX, false,
     "find the models in folders, identify them and remember them",
     "Walks every folder named, reads the header of every model found and records what it is in the library. Files "
     "stay where they are and are never changed. Pictures, texts, configs and scripts are counted, not recorded. A "
     "broken file never stops the others: it stands in the list of what needs a look, with what to do about it.\n\n"
     "An import is a job. When it is interrupted, by Ctrl-C or by a power cut, the same command goes on where it "
     "stopped. A second import of the same folder reads only what changed.",
     "tenure import ~/models\nrecord everything below a folder\n"
     "tenure import --dry-run /mnt/disk\nsay what is there and record nothing\n"
     "find / -name '*.safetensors' -print0 | tenure import -\nrecord the files of a list"},
    {TN_VERB_LIST, "list", "", TN_ARGUMENT_NONE, NULL, 0, 0, false,
     "list the models of the library",
     "Prints every record, by base, type and name, in every state: also files that are missing or damaged.",
     "tenure list\na table\n"
     "tenure list --json | jq -r 'select(.base == \"sdxl\") | .path'\nthe paths of all models for SDXL"},
    {TN_VERB_SHOW, "show", "MODEL...", TN_ARGUMENT_PATHS, NULL, 1, SIZE_MAX, false,
     "show all that the library knows of a model",
     "MODEL is the id that `list` prints, a path, or a name that only one model has.",
     "tenure show 17\nthe record with this id\n"
     "tenure show ~/models/flux1-dev.safetensors\nthe record of a file"},
    {TN_VERB_PROBE, "probe", "PATH...", TN_ARGUMENT_PATHS, NULL, 1, SIZE_MAX, false,
     "say what a file is, from its header alone",
     "Prints one line a model: state, what it is, size, container and element type, path. Needs no library and reads "
     "only headers, so a file of 40 GB is answered as fast as a small one. Nothing in the file is executed.\n\n"
     "The state is `identified`, `ambiguous` (several answers fit; --why lists them), `unknown` (no rule fits), "
     "`unsupported`, `damaged`, `dangerous` or `unreadable`.",
     "tenure probe model.safetensors\nwhat is it?\n"
     "tenure probe --why model.safetensors\nand what spoke for that, and against the rest\n"
     "find . -name '*.safetensors' -print0 | tenure probe --json -\none JSON object a file"},
    {TN_VERB_INSPECT, "inspect", "PATH...", TN_ARGUMENT_PATHS, NULL, 1, SIZE_MAX, false,
     "show the tensors, metadata and faults of a file",
     "Prints what the header says: container, parts, element types, metadata and findings, then every tensor with its "
     "type, shape, place and size. A damaged file is shown as far as its header can be trusted.",
     "tenure inspect model.safetensors | less\nlook through a file\n"
     "tenure inspect --json model.safetensors | jq -r '.tensors[].name'\nthe names of all tensors"},
    {TN_VERB_HASH, "hash", "PATH...", TN_ARGUMENT_PATHS, NULL, 1, SIZE_MAX, false,
     "take the digests of files, several in one pass",
     "Prints a line for each digest of each file: its name, its digits, the path. Without --algo these are blake3 and "
     "sha256. A file is read once, however many digests are asked for, and once more for `content`.\n\n"
     "`autov1`, `autov2` and `autov3` are the short ones that web UIs and model sites name files by. `key_hash` is made "
     "of the tensors' names and shapes alone. `content` is made of names, types, shapes and values: it stays the same "
     "when tensors change their order in the file or the metadata is edited.\n\n"
     "Where a file has no such digest `-` is printed, in JSON null: autov3 is for safetensors, key_hash and content are "
     "for files whose tensors can be read. A file is hashed as it is, never the set it belongs to.",
     "tenure hash model.safetensors\nBLAKE3 and SHA-256\n"
     "tenure hash --algo autov2,autov3,crc32 model.safetensors\nwhat a model site lists\n"
     "find . -name '*.safetensors' -print0 | tenure hash --json -\none JSON object a file"},
    {TN_VERB_JOBS, "jobs", "[run|pause|resume|cancel|retry] [ID]", TN_ARGUMENT_WORDS, "run|pause|resume|cancel|retry",
     0, 2, false,
     "list what is queued, running or interrupted, and go on with it",
     "Without a word it lists the jobs. `run` does what is queued and goes on with what was interrupted. Without an "
     "ID, a word is for every job that it suits.",
     "tenure jobs\nlist the jobs\n"
     "tenure jobs run\ngo on with everything\n"
     "tenure jobs cancel 3\ngive up job 3"},
    {TN_VERB_HELP, "help", "[VERB]", TN_ARGUMENT_VERBS, NULL, 0, 1, false, "explain the command, or one verb",
     "The same as `tenure VERB --help`.", "tenure help import\nwhat import does and takes"},
    {TN_VERB_VERSION, "version", "", TN_ARGUMENT_NONE, NULL, 0, 0, false, "print the version",
     "The same as `tenure --version`.", "tenure version\nprint the version"},
    {TN_VERB_COMPLETION, "completion", "bash|zsh|fish", TN_ARGUMENT_WORDS, "bash|zsh|fish", 1, 1, true,
     "print the completion script of a shell", "", ""},
    {TN_VERB_MAN, "man", "[VERB]", TN_ARGUMENT_VERBS, NULL, 0, 1, true, "print a man page", "", ""},
    {TN_VERB_NONE, NULL, NULL, TN_ARGUMENT_NONE, NULL, 0, 0, true, NULL, NULL, NULL},
};

const tn_option tn_option_table[] = {
    {TN_OPTION_DRY_RUN, "dry-run", 'n', NULL, NULL, NULL, FOR(IMPORT), "say what would be recorded and record nothing"},
    {TN_OPTION_HASH, "hash", 0, "WHICH", "none|blake3|sha256|all", NULL, FOR(IMPORT),
     "hash the files before the end; this version takes only `none`"},
    {TN_OPTION_ALGO, "algo", 'a', "WHICH", "blake3|sha256|crc32|autov1|autov2|autov3|key_hash|content", NULL, FOR(HASH),
     "the digests to take, with commas between them; otherwise blake3,sha256"},
    {TN_OPTION_LIMIT, "limit", 0, "N", NULL, NULL, FOR(LIST), "print at most N models"},
    {TN_OPTION_WHY, "why", 'w', NULL, NULL, NULL, FOR(PROBE), "list what spoke for the answer and against others"},
    {TN_OPTION_LENIENT, "lenient", 0, NULL, NULL, NULL, FOR(INSPECT),
     "accept a damaged file: what was found is shown, the exit code stays 0"},
    {TN_OPTION_JSON, "json", 0, NULL, NULL, NULL, TN_EVERY_VERB, "print one JSON object a line and nothing else"},
    {TN_OPTION_LIBRARY, "library", 0, "FILE", NULL, "TENURE_LIBRARY", TN_EVERY_VERB,
     "the library to use; otherwise the one in your data folder"},
    {TN_OPTION_MEMORY, "memory", 0, "SIZE", NULL, "TENURE_MEMORY", TN_EVERY_VERB,
     "memory to use at most, such as 512M or 2G; otherwise 80 % of what the system has left"},
    {TN_OPTION_JOBS, "jobs", 'j', "N", NULL, "TENURE_JOBS", TN_EVERY_VERB,
     "threads to use at most; otherwise one for each core, at most 8"},
    {TN_OPTION_QUIET, "quiet", 'q', NULL, NULL, NULL, TN_EVERY_VERB, "print results and problems, nothing else"},
    {TN_OPTION_PROGRESS, "progress", 0, NULL, NULL, NULL, TN_EVERY_VERB,
     "show progress on stderr even when that is no terminal"},
    {TN_OPTION_NO_COLOR, "no-color", 0, NULL, NULL, "NO_COLOR", TN_EVERY_VERB, "use no colours"},
    {TN_OPTION_HELP, "help", 'h', NULL, NULL, NULL, TN_EVERY_VERB, "explain the verb"},
    {TN_OPTION_VERSION, "version", 'V', NULL, NULL, NULL, TN_EVERY_VERB, "print the version"},
    {TN_OPTION_JSON, NULL, 0, NULL, NULL, NULL, 0, NULL},
};

const tn_verb *tn_verb_named(const char *name)
{
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

const tn_verb *tn_verb_of(tn_verb_id id)
{
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++)
        if (verb->id == id)
            return verb;
    return NULL;
}

bool tn_option_belongs(const tn_option *option, tn_verb_id verb)
{
    return (option->verbs >> (unsigned)verb & 1u) != 0;
}

bool tn_cli_words_next(const char **words, tn_text *out)
{
    if (!*words || !**words)
        return false;
    size_t size = strcspn(*words, "|");
    *out = (tn_text){*words, size};
    *words += size + ((*words)[size] == '|');
    return true;
}

bool tn_cli_words_have(const char *words, const char *word, size_t size)
{
    tn_text each;
    while (tn_cli_words_next(&words, &each))
        if (each.size == size && memcmp(each.bytes, word, size) == 0)
            return true;
    return false;
}
