/* cmd_completion.c - generate completion scripts for shells from the option tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"

/* Call PUT for every option of C. */
static void each_option(const struct command *c, struct out *o,
                        void (*put)(struct out *, const struct command *, const struct option *))
{
    for (const struct opts_table *t = c->options; t->options; t++)
        for (const struct option *p = t->options; p->name; p++)
            put(o, c, p);
}

/* Write TEXT in single quotes; write a quote in it as '\''. */
static void put_quoted(struct out *o, const char *text)
{
    out_char(o, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            out_str(o, "'\\''");
        else
            out_char(o, *text);
    }
    out_char(o, '\'');
}

static void bash_option(struct out *o, const struct command *c, const struct option *p)
{
    if (p->letter)
        out_printf(o, " -%c", p->letter);
    out_printf(o, " --%s", p->name);
}

static void put_bash(struct out *o)
{
    out_str(o, "_fathom() {\n"
               "    local cur=${COMP_WORDS[COMP_CWORD]} words=\n"
               "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
               "        words='");
    for (size_t i = 0; commands[i]; i++)
        out_printf(o, "%s%s", i ? " " : "", commands[i]->name);
    out_str(o, "'\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; commands[i]; i++) {
        out_printf(o, "        %s) words='-h", commands[i]->name);
        each_option(commands[i], o, bash_option);
        out_str(o, "' ;;\n");
    }
    out_str(o, "        esac\n"
               "        [[ $cur == -* ]] || words=\n"
               "    fi\n"
               "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
               "}\n"
               "complete -o default -F _fathom fathom\n");
}

/* Escape brackets and colons, which delimit [help] and :value: in arguments of _arguments. */
static void zsh_help(struct out *o, const char *help)
{
    for (; *help; help++) {
        if (strchr("[]:\\", *help))
            out_char(o, '\\');
        if (*help == '\'')
            out_str(o, "'\\'");
        out_char(o, *help);
    }
}

static void zsh_option(struct out *o, const struct command *c, const struct option *p)
{
    out_printf(o, " \\\n        '--%s%s[", p->name, p->value ? "=" : "");
    zsh_help(o, p->help);
    out_printf(o, "]%s%s%s'", p->value ? ":" : "", p->value ? p->value : "",
               p->value ? ":_default" : "");
    if (p->letter) {
        out_printf(o, " \\\n        '-%c%s[", p->letter, p->value ? "+" : "");
        zsh_help(o, p->help);
        out_printf(o, "]%s%s%s'", p->value ? ":" : "", p->value ? p->value : "",
                   p->value ? ":_default" : "");
    }
}

static void put_zsh(struct out *o)
{
    out_str(o, "#compdef fathom\n_fathom() {\n    if (( CURRENT == 2 )); then\n"
               "        local -a commands=(\n");
    for (size_t i = 0; commands[i]; i++) {
        out_printf(o, "            '%s:", commands[i]->name);
        zsh_help(o, commands[i]->summary);
        out_str(o, "'\n");
    }
    out_str(o, "        )\n        _describe command commands\n        return\n    fi\n"
               "    local command=$words[2]\n"
               "    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (size_t i = 0; commands[i]; i++) {
        out_printf(o, "    %s) _arguments -S", commands[i]->name);
        each_option(commands[i], o, zsh_option);
        out_str(o, " \\\n        '*:file:_default' ;;\n");
    }
    out_str(o, "    esac\n}\n_fathom \"$@\"\n");
}

static void fish_option(struct out *o, const struct command *c, const struct option *p)
{
    out_printf(o, "complete -c fathom -n '__fish_seen_subcommand_from %s' -l %s", c->name, p->name);
    if (p->letter)
        out_printf(o, " -s %c", p->letter);
    out_str(o, p->value && p->type != OPT_OPT_STR ? " -r -d " : " -d ");
    put_quoted(o, p->help);
    out_char(o, '\n');
}

static void put_fish(struct out *o)
{
    for (size_t i = 0; commands[i]; i++) {
        out_printf(o, "complete -c fathom -n __fish_use_subcommand -a %s -d ", commands[i]->name);
        put_quoted(o, commands[i]->summary);
        out_char(o, '\n');
        each_option(commands[i], o, fish_option);
    }
}

static int completion_run(void *args, const struct opts_rest *rest, struct err *e)
{
    static const struct {
        const char *name;
        void (*put)(struct out *o);
    } shells[] = { { "bash", put_bash }, { "zsh", put_zsh }, { "fish", put_fish } };
    struct out o = out_fd(STDOUT_FILENO);

    for (size_t i = 0; rest->n == 1 && i < ARRAY_LEN(shells); i++)
        if (strcmp(rest->v[0], shells[i].name) == 0) {
            shells[i].put(&o);
            return out_close(&o, e);
        }
    return err_set(e, ERR_USAGE, "give one shell: bash, zsh or fish");
}

static const struct opts_table no_options[] = { { 0 } };

const struct command cmd_completion = {
    .name = "completion",
    .summary = "print the completion script for a shell",
    .usage = "completion bash|zsh|fish",
    .options = no_options,
    .run = completion_run,
};
