/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/base/param_file.c: each file's events written as "line:name=value" or "line!complaint".
 */
#include "opal/mca/base/param_file.h"

#include "test/unit/opal/support.h"

static opal_text_t events;

static void note_setting(const char *name, const char *value, unsigned line, void *context)
{
    ck_assert_ptr_eq(context, &events);
    opal_text_printf(&events, "%u:%s=%s|", line, name, value);
}

static void note_complaint(const char *complaint, unsigned line, void *context)
{
    ck_assert_ptr_eq(context, &events);
    opal_text_printf(&events, "%u!%s|", line, complaint);
}

#define FILE_TEXT(text) text, sizeof(text) - 1

#define NO_EQUALS "there is no '=' behind the name; a line is: name = value"
#define NO_NAME   "it does not begin with a parameter's name"
#define NO_QUOTE  "the closing quote is missing"
#define BEHIND    "something follows the closing quote"
#define NO_TEXT   "it has a zero byte in it; is this a text file?"

static const struct {
    const char *bytes;
    size_t length;
    const char *events;
} files[] = {
    {FILE_TEXT(""), ""},
    {FILE_TEXT("\n\n \t\n"), ""},
    {FILE_TEXT("a=1"), "1:a=1|"},
    {FILE_TEXT("a=1\n"), "1:a=1|"},
    {FILE_TEXT("a = 1\nb=2\n\nc =3"), "1:a=1|2:b=2|4:c=3|"},
    {FILE_TEXT("  \ta\t = \t1 2 \t\n"), "1:a=1 2|"},
    {FILE_TEXT("# all\n  # of it\na = 1 # one\n"), "3:a=1|"},
    {FILE_TEXT("a = 1#2\nb = #3\nc =# 4\n"), "1:a=1#2|2:b=|3:c=|"},
    {FILE_TEXT("a =\nb = \n"), "1:a=|2:b=|"},
    {FILE_TEXT("a = b = c\na==\n"), "1:a=b = c|2:a==|"},
    {FILE_TEXT("a-b_C9 = x\n"), "1:a-b_C9=x|"},
    {FILE_TEXT("a = \" 1 # 2 \" # 3\n"), "1:a= 1 # 2 |"},
    {FILE_TEXT("a = 'it\"s'\nb = \"it's\"\n"), "1:a=it\"s|2:b=it's|"},
    {FILE_TEXT("a = \"\"\n"), "1:a=|"},
    {FILE_TEXT("a = it's\n"), "1:a=it's|"},
    {FILE_TEXT("a = \"1\nb = 2\n"), "1!" NO_QUOTE "|2:b=2|"},
    {FILE_TEXT("a = \"1\" 2\nb = '1'#2\n"), "1!" BEHIND "|2:b=1|"},
    {FILE_TEXT("a\nb 1\n= 3\n$c = 4\nd e = 5\n"),
     "1!" NO_EQUALS "|2!" NO_EQUALS "|3!" NO_NAME "|4!" NO_NAME "|5!" NO_EQUALS "|"},
    {FILE_TEXT("[section]\na = 1\n"), "1!" NO_NAME "|2:a=1|"},
    {FILE_TEXT("a = 1\r\nb = \"2\"\r\n\r\n# c\r\nd = 3\r"), "1:a=1|2:b=2|5:d=3|"},
    {FILE_TEXT("\xef\xbb\xbf"), ""},
    {FILE_TEXT("\xef\xbb\xbf# x\na = 1\n"), "2:a=1|"},
    {FILE_TEXT("\xef\xbb\xbf"
               "a = 1\n\xef\xbb\xbf"
               "b = 2\n"),
     "1:a=1|2!" NO_NAME "|"},
    {FILE_TEXT("\xef\xbb"), "1!" NO_NAME "|"},
    {FILE_TEXT("a = \xc3\xa4\n\xc3\xa4 = 1\n"), "1:a=\xc3\xa4|2!" NO_NAME "|"},
    {FILE_TEXT("a = 1\nb\0 = 2\nc = 3\n"), "1:a=1|2!" NO_TEXT "|3:c=3|"},
    {FILE_TEXT("\0"), "1!" NO_TEXT "|"},
    {FILE_TEXT("a = \xff\n\xff\xfe\n"), "1:a=\xff|2!" NO_NAME "|"},
};

START_TEST(parse)
{
    /* A copy of exactly the length: what reads behind it is seen by the sanitizers. */
    char *bytes = opal_xmalloc(files[_i].length);
    memcpy(bytes, files[_i].bytes, files[_i].length);
    opal_param_file_parse(bytes, files[_i].length, note_setting, note_complaint, &events);
    ck_assert_str_eq(opal_text_string(&events), files[_i].events);
    free(bytes);
    opal_text_free(&events);
}
END_TEST

START_TEST(the_bytes_stay_as_they_are)
{
    static const char text[] = "a = 'x' # y\nb\n";
    char bytes[sizeof text];
    memcpy(bytes, text, sizeof text);
    opal_param_file_parse(bytes, sizeof text - 1, note_setting, note_complaint, &events);
    ck_assert_str_eq(bytes, text);
    opal_text_free(&events);
}
END_TEST

START_TEST(very_long_lines)
{
    enum { LENGTH = 1 << 20 };
    char *bytes = opal_xmalloc(LENGTH);
    memset(bytes, 'n', LENGTH);
    opal_param_file_parse(bytes, LENGTH, note_setting, note_complaint, &events);
    ck_assert_str_eq(opal_text_string(&events), "1!" NO_EQUALS "|");
    opal_text_free(&events);

    bytes[LENGTH / 2] = '=';
    opal_param_file_parse(bytes, LENGTH, note_setting, note_complaint, &events);
    ck_assert_uint_eq(events.length, LENGTH + strlen("1:|"));
    opal_text_free(&events);
    free(bytes);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &parse, .repeats = OPAL_COUNT_OF(files)},
    {.test = &the_bytes_stay_as_they_are},
    {.test = &very_long_lines},
};

UNIT_MAIN("param_file", tests, NULL);
