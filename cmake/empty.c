/* A folder without sources yet still makes a library. */
typedef int tn_empty_translation_unit;
