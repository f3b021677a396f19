/* The tables of verbs and options (cli/options.h), and how a row is found. */
#include "cli/options.h"

#include <string.h>

#define FOR(verb) (UINT64_C(1) << TN_VERB_##verb)

const tn_verb tn_verb_table[] = {
    {TN_VERB_IMPORT, "import", "PATH...", TN_ARGUMENT_PATHS, NULL, 1, SIZE_MAX, false,
     "find the models in folders, identify them and remember them",
     "Walks every folder named, reads the header of every model found and records what it is in the library. Files "
     "stay where they are and are never changed. Pictures, texts, configs and scripts are counted, not recorded. A "
     "broken file never stops the others: it stands in the list of what needs a look, with what to do about it.\n\n"
     "An import is a job. When it is interrupted, by Ctrl-C or by a power cut, the same command goes on where it "
     "stopped. A second import of the same folder reads only what changed.\n\n"
     "Hashing reads every byte, so it waits: the import says how much there is, and `tenure jobs run` does it. With "
     "--hash it is done at once.\n\n"
     "The exit code is 1 when something must be looked at: a path that was named is not there, a file is damaged, dangerous "
     "or cannot be read, a folder cannot be listed. Everything else was recorded all the same.",
     "tenure import ~/models\nrecord everything below a folder\n"
     "tenure import --dry-run /mnt/disk\nsay what is there and record nothing\n"
     "find / -name '*.safetensors' -print0 | tenure import -\nrecord the files of a list"},
    {TN_VERB_SCAN, "scan", "[ROOT...]", TN_ARGUMENT_PATHS, NULL, 0, SIZE_MAX, false,
     "look at all roots again: what is new, changed, moved or gone",
     "Every folder that was imported is a root. A scan walks all of them, or those named, and reads what is new or changed. "
     "A model that was moved or renamed keeps its record with everything you said of it; what was replaced is a new record, "
     "and the old one is missing. Where it cannot be told for sure which file is which, `tenure relink` asks.\n\n"
     "A root that is not there (a disk that is not plugged in) makes its models offline, not missing: they are back when "
     "it is. The exit code is 1 when something has to be asked or looked at.",
     "tenure scan\nall roots\n"
     "tenure scan --watch\nand again whenever something changes, until Ctrl-C\n"
     "tenure scan ~/models/loras\none folder of a root"},
    {TN_VERB_ROOTS, "roots", "[add DIR | remove DIR | relocate OLD NEW]", TN_ARGUMENT_PATHS, NULL, 0, 3, false,
     "list the folders that are scanned, add or forget one, or say where one went",
     "Without a word it lists the roots, with the models below each and whether the folder is there. `add` keeps a folder, "
     "which the next scan looks at. `remove` forgets a root: it is not scanned any more, and its models stay in the library "
     "as they are.\n\n"
     "`relocate` is for a folder that was moved or mounted elsewhere, or a drive with another letter: all that is recorded "
     "below OLD lies below NEW from then on, and NEW is scanned. OLD need not be a root, and need not be there.",
     "tenure roots\nlist them\n"
     "tenure roots relocate /mnt/old/models /mnt/new/models\nthe disk is mounted elsewhere now"},
    {TN_VERB_RELINK, "relink", "", TN_ARGUMENT_NONE, NULL, 0, 0, false,
     "find the files of models that are missing, where a scan could not be sure",
     "A scan finds moved files by itself where only one file can be meant. This lists the rest: for each missing record the "
     "models that may be its file, because size and sample are the same, or because they lie where it was. The missing "
     "record takes over the file of the one you choose, with its own name, tags and note; tags and note of the other are "
     "added to it.\n\n"
     "--yes takes every one that has a single candidate; --interactive asks for each. A record that is not coming back is "
     "forgotten with `tenure remove ID`.",
     "tenure relink\nwhat could be meant\n"
     "tenure relink --interactive\nchoose for each"},
    {TN_VERB_MISSING, "missing", "", TN_ARGUMENT_NONE, NULL, 0, 0, false,
     "list the models whose files are gone",
     "Prints the records whose files were not there at the last scan: `missing` when the folder was, `offline` when its root "
     "was not, such as a disk that is not plugged in. They keep everything, and are back when their files are.",
     "tenure missing\na table\n"
     "tenure missing --json | jq -r .path\nwhere they were"},
    {TN_VERB_LIST, "list", "", TN_ARGUMENT_NONE, NULL, 0, 0, false,
     "list the models of the library",
     "Prints every record, by base, type and name, in every state: also files that are missing or damaged. What has no "
     "base stands last. The file is named where the record's name does not tell it.",
     "tenure list\na table\n"
     "tenure list --base sdxl --type lora\nwhat fits SDXL\n"
     "tenure list --state damaged\nwhat has to be fetched again\n"
     "tenure list --json | jq -r 'select(.base == \"sdxl\") | .path'\nthe paths of all models for SDXL"},
    {TN_VERB_SHOW, "show", "MODEL...", TN_ARGUMENT_PATHS, NULL, 1, SIZE_MAX, false,
     "show all that the library knows of a model",
     "MODEL is the id that `list` prints, a path, or a name that only one model has: that of the record, or that of the "
     "file. Where several have the name, they are listed.",
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
    {TN_VERB_VERIFY, "verify", "MODEL...", TN_ARGUMENT_PATHS, NULL, 0, SIZE_MAX, false,
     "look whether files are still what they should be",
     "Opens each file and checks its structure; then, where the library has a hash of it, reads the whole file again and "
     "compares. MODEL is a path, an id or a name; a folder stands for every model below it, --all for every model of the "
     "library. One line a model, and below it what was found.\n\n"
     "A file of the same size and time that holds other bytes than when it was hashed was damaged by the disk, the memory "
     "or a copy: fetch it again. A file that was changed or replaced since is not compared: `scan` and `jobs run` hash it "
     "anew. Nothing is repaired and no file is changed.",
     "tenure verify model.safetensors\nits structure, and its hash if it is known\n"
     "tenure verify --quick ~/models\nheaders alone, in seconds\n"
     "tenure verify --all --json\none JSON object a model"},
    {TN_VERB_JOBS, "jobs", "[run|pause|resume|cancel|retry] [ID]", TN_ARGUMENT_WORDS, "run|pause|resume|cancel|retry",
     0, 2, false,
     "list what is queued, running or interrupted, and go on with it",
     "Without a word it lists the jobs. `run` does what is queued and goes on with what was interrupted: imports, and the "
     "hashing of files that imports found (BLAKE3, SHA-256 and AutoV2). It may be stopped at any time and goes on where "
     "it was, file by file. Without an ID, a word is for every job that it suits.",
     "tenure jobs\nlist the jobs\n"
     "tenure jobs run\ngo on with everything\n"
     "tenure jobs cancel 3\ngive up job 3"},
    {TN_VERB_SEARCH, "search", "TEXT...", TN_ARGUMENT_WORDS, NULL, 1, SIZE_MAX, false,
     "find models by words, parts of words and hashes",
     "Finds the models that have every word of TEXT somewhere in their name, path, tags, note, base, type, title or trigger "
     "words, in any case of letters; a part of a word is enough. Names come before the rest. A word in quotes inside of "
     "TEXT may hold blanks.\n\n"
     "A single word of eight hexadecimal digits or more also finds the model of which a recorded hash begins so, AutoV2 "
     "among them.\n\n"
     "These words narrow the search, and may stand alone: type:lora, base:sdxl, tag:anime, state:damaged, is:missing (or "
     "is:offline, is:present, is:crashed).",
     "tenure search flux dev\nall that have both words\n"
     "tenure search 'detail base:sdxl type:lora'\nLoRAs for SDXL with `detail` in them\n"
     "tenure search 6CE0161689\nthe model with this hash"},
    {TN_VERB_TAG, "tag", "[MODEL... +TAG...]", TN_ARGUMENT_PATHS, NULL, 0, SIZE_MAX, false,
     "put tags on models, take them off, or list all tags",
     "Arguments that begin with `+` are tags, the others are models; behind `--` all are models. A tag has 1 to 64 "
     "characters and is the same tag in any case of letters. Without arguments all tags are listed, with how many models "
     "have each.",
     "tenure tag flux1-dev +favourite +\"needs 24 GB\"\ntwo tags for one model\n"
     "tenure search --json old | jq -r .id | tenure tag - +old\na tag for many\n"
     "tenure tag 17 --remove old\ntake one off\n"
     "tenure tag\nall tags"},
    {TN_VERB_NOTE, "note", "MODEL [TEXT]", TN_ARGUMENT_PATHS, NULL, 1, 2, false,
     "write a note on a model, or read it",
     "TEXT takes the place of the note there is; an empty TEXT takes it away; `-` reads it from stdin. Without TEXT the note "
     "is printed.",
     "tenure note flux1-dev 'wants guidance 3.5'\nwrite it\n"
     "tenure note flux1-dev\nread it\n"
     "tenure note flux1-dev ''\ntake it away"},
    {TN_VERB_RENAME, "rename", "MODEL NAME", TN_ARGUMENT_PATHS, NULL, 2, 2, false,
     "give a model another name in the library",
     "Only the name in the library changes: the file stays as it is, and is still found by its own name and path.",
     "tenure rename 17 'Flux for portraits'\nname it"},
    {TN_VERB_SET, "set", "MODEL...", TN_ARGUMENT_PATHS, NULL, 1, SIZE_MAX, false,
     "say what a model is, where its header does not",
     "What is set counts more than what the file says, and stays when the file is read again; `show` tells that it was "
     "decided by you. --auto takes all of it back.\n\n"
     "A base or variant must be one that the rules or another model have, so that a slip of the fingers makes no new one; "
     "--new-word accepts any.",
     "tenure set 17 --base sdxl\nit is for SDXL\n"
     "tenure set 17 --auto\nwhat the file says counts again"},
    {TN_VERB_DUPLICATES, "duplicates", "", TN_ARGUMENT_NONE, NULL, 0, 0, false,
     "list models that are the same twice",
     "Prints groups of models with the same bytes, and what could be saved. `sure` means that the BLAKE3 of every part is "
     "equal. `possible` means that size and sample are equal and one at least has not been hashed: `tenure jobs run` takes "
     "the hashes that wait. One file under several paths, by links, is one model and no duplicate.",
     "tenure duplicates\nwhat could be saved"},
    {TN_VERB_USAGE, "usage", "", TN_ARGUMENT_NONE, NULL, 0, 0, false,
     "show where the bytes are",
     "Prints the folders of the library as a tree, with models and bytes below each. A file that has several paths or hard "
     "links counts once.",
     "tenure usage\nthe tree, two folders deep\n"
     "tenure usage --by base\nby what it is for"},
    {TN_VERB_EXPORT, "export", "[FILE]", TN_ARGUMENT_PATHS, NULL, 0, 1, false,
     "write the whole library as JSON lines",
     "Writes everything that the library remembers, without FILE to stdout: `restore` makes the same library of it. The "
     "models themselves are not in it. FILE is there whole or not at all.",
     "tenure export library.jsonl\na copy to keep"},
    {TN_VERB_RESTORE, "restore", "FILE", TN_ARGUMENT_PATHS, NULL, 1, 1, false,
     "make a library of what `export` wrote",
     "Reads FILE (`-`: stdin) into a library that is new or empty: all of it, or nothing. What it says of files is checked "
     "by the next import of their folders.",
     "tenure restore library.jsonl\nafter the library was lost\n"
     "tenure restore library.jsonl --library other.db\nbeside the one in use"},
    {TN_VERB_MOVE, "move", "MODEL... DIR", TN_ARGUMENT_PATHS, NULL, 2, SIZE_MAX, false,
     "move models to another folder, with what lies beside them",
     "Moves the files of each MODEL into DIR, which is made when it is not there: the file with its sidecars (x.json, "
     "x.civitai.info, x.preview.png), a sharded set with its index, a model folder whole. The record keeps its id, tags, "
     "note and hashes.\n\n"
     "On another disk space is checked first; the files are copied, flushed, read back and compared, and only then the old "
     "ones go. A file is never replaced. Folders that become empty go too, but never a folder that you imported. A link is "
     "moved as a link, unless --follow is given.",
     "tenure move flux1-dev /mnt/disk/models\none model to another disk\n"
     "tenure search --json base:sd-1 | jq -r .id | tenure move - ~/models/old\nmany at once\n"
     "tenure undo\nback to where they were"},
    {TN_VERB_REMOVE, "remove", "MODEL...", TN_ARGUMENT_PATHS, NULL, 1, SIZE_MAX, false,
     "take models out of the list, put them into the trash, or delete them",
     "Without an option only the list changes: the files stay, and a scan passes them over until they change or are named. "
     "--to-trash puts the files into the trash of their own disk. --delete deletes them for good, and asks first on a "
     "terminal; it refuses a model folder that holds anything else.\n\n"
     "Sidecars go with their model. No other file goes, and no folder but an emptied one below an imported folder.",
     "tenure remove 17\nforget it, and keep the file\n"
     "tenure remove --to-trash ~/models/old.safetensors\ninto the trash\n"
     "tenure undo\nand back, with its tags"},
    {TN_VERB_UNDO, "undo", "[EVENT]", TN_ARGUMENT_NONE, NULL, 0, 1, false,
     "take back the last move, copy or removal",
     "Brings files back to where they were and records back into the list, with their ids, tags and notes. EVENT is a number "
     "that --list prints; otherwise the last one that was not undone. What was deleted for good cannot come back. When the "
     "place is taken meanwhile, or a file has changed, it is left where it is and you are told.",
     "tenure undo\ntake back what was done last\n"
     "tenure undo --list\nwhat was done\n"
     "tenure undo 12\ntake that back"},
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
    {TN_OPTION_WATCH, "watch", 0, NULL, NULL, NULL, FOR(SCAN),
     "stay, and scan again whenever something changes; downloads are left alone until they are still"},
    {TN_OPTION_DRY_RUN, "dry-run", 'n', NULL, NULL, NULL, FOR(IMPORT) | FOR(MOVE) | FOR(REMOVE) | FOR(UNDO),
     "say what would be done, and do and record nothing"},
    {TN_OPTION_COPY_TO, "copy-to", 0, "DIR", NULL, NULL, FOR(IMPORT),
     "copy the models below DIR first, keeping the folders they lie in, and record the copies"},
    {TN_OPTION_MOVE_TO, "move-to", 0, "DIR", NULL, NULL, FOR(IMPORT), "the same, but move them"},
    {TN_OPTION_TO_TRASH, "to-trash", 0, NULL, NULL, NULL, FOR(REMOVE), "put the files into the trash"},
    {TN_OPTION_DELETE, "delete", 0, NULL, NULL, NULL, FOR(REMOVE), "delete the files for good"},
    {TN_OPTION_FOLLOW, "follow", 0, NULL, NULL, NULL, FOR(MOVE) | FOR(REMOVE), "act on the file that a link leads to"},
    {TN_OPTION_LIST, "list", 'l', NULL, NULL, NULL, FOR(UNDO), "list what was done, and what can be undone"},
    {TN_OPTION_YES, "yes", 'y', NULL, NULL, NULL, FOR(REMOVE) | FOR(RELINK),
     "do not ask; relink: take what has a single candidate"},
    {TN_OPTION_INTERACTIVE, "interactive", 'i', NULL, NULL, NULL, FOR(RELINK), "ask for each"},
    {TN_OPTION_HASH, "hash", 0, "WHICH", "none|blake3|sha256|all", NULL, FOR(IMPORT) | FOR(SCAN),
     "hash all files before the end that lack it; otherwise hashing is queued for `tenure jobs run`"},
    {TN_OPTION_ALL, "all", 0, NULL, NULL, NULL, FOR(VERIFY), "every model of the library"},
    {TN_OPTION_QUICK, "quick", 0, NULL, NULL, NULL, FOR(VERIFY), "the structure alone: read headers, compare no hash"},
    {TN_OPTION_ALGO, "algo", 'a', "WHICH", "blake3|sha256|crc32|autov1|autov2|autov3|key_hash|content", NULL, FOR(HASH),
     "the digests to take, with commas between them; otherwise blake3,sha256"},
    {TN_OPTION_LIMIT, "limit", 0, "N", NULL, NULL, FOR(LIST) | FOR(SEARCH), "print at most N models"},
    {TN_OPTION_TYPE, "type", 't', "TYPE", NULL, NULL, FOR(LIST) | FOR(SET), "the type, such as main, lora or vae"},
    {TN_OPTION_BASE, "base", 'b', "BASE", NULL, NULL, FOR(LIST) | FOR(SET), "what it is for, such as sdxl or flux"},
    {TN_OPTION_VARIANT, "variant", 0, "VARIANT", NULL, NULL, FOR(SET), "the variant, such as inpaint; '' for none"},
    {TN_OPTION_TAG, "tag", 0, "TAG", NULL, NULL, FOR(LIST), "only models with this tag"},
    {TN_OPTION_STATE, "state", 0, "STATE", "identified|ambiguous|unknown|unsupported|damaged|dangerous|unreadable", NULL,
     FOR(LIST), "only models in this state"},
    {TN_OPTION_MISSING, "missing", 0, NULL, NULL, NULL, FOR(LIST), "only models whose files are gone"},
    {TN_OPTION_AUTO, "auto", 0, NULL, NULL, NULL, FOR(SET), "take back what was set"},
    {TN_OPTION_NEW_WORD, "new-word", 0, NULL, NULL, NULL, FOR(SET), "accept a base or variant that nothing has yet"},
    {TN_OPTION_REMOVE, "remove", 'r', "TAG", NULL, NULL, FOR(TAG), "take this tag off; may be given several times"},
    {TN_OPTION_BY, "by", 0, "WHAT", "folder|base|type", NULL, FOR(USAGE), "what to add up by; otherwise folder"},
    {TN_OPTION_DEPTH, "depth", 0, "N", NULL, NULL, FOR(USAGE), "folders below a root to print; otherwise 2, with --json all"},
    {TN_OPTION_DISK, "disk", 0, NULL, NULL, NULL, FOR(USAGE), "ask the disk what the files take there, holes left out"},
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
    return (option->verbs >> (unsigned)verb & 1) != 0;
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
