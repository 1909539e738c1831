/*
 * The statements (see statements.h). Numbered parameters; what a row is, says migrations.c.
 */
#include "agent/journal/sql/statements.h"

#define SESSION_COLUMNS                                                                            \
    "pk,id,agent,fields,created,updated,epoch,epoch_seq,"                                          \
    "(SELECT COALESCE(MAX(seq),0) FROM message WHERE message.pk=session.pk),summary,summary_seq"
#define SESSION_TYPES    "ttttiiiiiti"
#define MESSAGE_COLUMNS  "seq,role,body,run,model,tokens_in,tokens_out,cost,at"
#define MESSAGE_TYPES    "ittttiiri"
#define APPROVAL_COLUMNS "id,pk,run,call,record,hash,state,expires,decided_by"
#define APPROVAL_TYPES   "tttttttit"
#define NOTE_TYPES       "ttirt"
#define NOTE_SEARCH                                                                                \
    "SELECT f.doc,f.part,f.at,-w.rank,f.text FROM note_words w JOIN note f ON f.n=w.rowid "        \
    "WHERE pk=$1 AND note_words MATCH $2 ORDER BY w.rank LIMIT $3"
#define OPEN_CALL "state IN ('PENDING','APPROVAL_REQUIRED','EXECUTING')"

const struct sql_statement sql_statements[SQL_COUNT] = {
    /* ---- sessions: key, id, agent, what a search looks in, ms ---- */
    [SQL_SESSION_PUT] = {"session_put", "HW", "tttti", "",
                         "INSERT INTO session(pk,id,agent,find,fields,created,updated) "
                         "VALUES($1,$2,$3,$4,'{}',$5,$5) "
                         "ON CONFLICT(pk) DO UPDATE SET updated=excluded.updated"},
    /* key, id, agent or NULL, what a search looks in or NULL, the same of a new one, patch, ms */
    [SQL_SESSION_PATCH] =
        {"session_patch", "W", "tttttti", "",
         "INSERT INTO session(pk,id,agent,find,fields,created,updated) "
         "VALUES($1,$2,COALESCE($3,''),COALESCE($4,$5),json_patch('{}',$6),$7,$7) "
         "ON CONFLICT(pk) DO UPDATE SET fields=json_patch(session.fields,$6),"
         "agent=COALESCE($3,session.agent),find=COALESCE($4,session.find)"},
    [SQL_SESSION_RESET] = {"session_reset", "W", "ttti", "",
                           "UPDATE session SET id=$2,reset=$3,epoch=epoch+1,epoch_seq="
                           "(SELECT COALESCE(MAX(seq),0)+1 FROM message WHERE message.pk=$1),"
                           "summary='',summary_seq=0,updated=$4 WHERE pk=$1"},
    /* a summary of an epoch that has ended meanwhile is none */
    [SQL_SESSION_SUMMARY] = {"session_summary", "W1", "tit", "",
                             "UPDATE session SET summary=$3,summary_seq=$2 "
                             "WHERE pk=$1 AND epoch_seq<=$2 AND summary_seq<=$2"},
    [SQL_SESSION_DROP] = {"session_drop", "W", "t", "", "DELETE FROM session WHERE pk=$1"},
    [SQL_SESSION_GET] = {"session_get", "H", "t", SESSION_TYPES,
                         "SELECT " SESSION_COLUMNS " FROM session WHERE pk=$1"},
    /* before (ms, key), pattern, limit */
    [SQL_SESSION_LIST] = {"session_list", "X", "itti", SESSION_TYPES,
                          "SELECT " SESSION_COLUMNS " FROM session WHERE (updated,pk)<($1,$2) "
                          "AND find LIKE $3 ESCAPE '\\' ORDER BY updated DESC,pk DESC LIMIT $4"},

    /* ---- transcript ---- */
    [SQL_MESSAGE_PUT] = {"message_put", "HW",
                         "titttt"
                         "iiri",
                         "",
                         "INSERT INTO message(pk,seq,run,role,body,model,tokens_in,tokens_out,cost,"
                         "at) VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)"},
    [SQL_MESSAGE_DROP] = {"message_drop", "W", "t", "", "DELETE FROM message WHERE pk=$1"},
    [SQL_HISTORY] = {"history", "H", "tii", MESSAGE_TYPES,
                     "SELECT " MESSAGE_COLUMNS " FROM message WHERE pk=$1 AND seq>$2 "
                     "ORDER BY seq LIMIT $3"},
    [SQL_HISTORY_TAIL] = {"history_tail", "H", "tii", MESSAGE_TYPES,
                          "SELECT " MESSAGE_COLUMNS " FROM message WHERE pk=$1 AND seq<$2 "
                          "ORDER BY seq DESC LIMIT $3"},

    /* ---- runs: session, id, agent, plan revision, ids of what it consumes, first seq, ms ---- */
    [SQL_RUN_PUT] = {"run_put", "HW", "tttitii", "",
                     "INSERT INTO run(pk,id,agent,state,states,plan,consumed,first_seq,at,ended) "
                     "VALUES($1,$2,$3,'RECEIVED','',$4,$5,$6,$7,0)"},
    /* session, id, newest state, those since the last time, ended at or 0 */
    [SQL_RUN_STATE] = {"run_state", "HW1", "tttti", "",
                       "UPDATE run SET state=$3,states=states||$4,ended=$5 "
                       "WHERE pk=$1 AND id=$2 AND ended=0"},
    [SQL_RUN_DROP] = {"run_drop", "W", "t", "", "DELETE FROM run WHERE pk=$1"},
    [SQL_RUN_FIND] = {"run_find", "X", "t", "ttttitiii",
                      "SELECT pk,agent,state,states,plan,consumed,first_seq,at,ended FROM run "
                      "WHERE id=$1"},

    [SQL_ATTEMPT_PUT] = {"attempt_put", "HW", "ttittii", "",
                         "INSERT INTO attempt(pk,run,n,model,reason,effects,at) "
                         "VALUES($1,$2,$3,$4,$5,$6,$7)"},
    [SQL_ATTEMPT_END] = {"attempt_end", "HW1", "ttitiii", "",
                         "UPDATE attempt SET outcome=$4,ms=$5,tokens_in=$6,tokens_out=$7 "
                         "WHERE pk=$1 AND run=$2 AND n=$3"},
    [SQL_ATTEMPT_DROP] = {"attempt_drop", "W", "t", "", "DELETE FROM attempt WHERE pk=$1"},

    /* ---- decisions about the model: session, run, a rising number, JSON, ms ---- */
    [SQL_DECISION_PUT] = {"decision_put", "HW", "ttiti", "",
                          "INSERT INTO decision(pk,run,n,body,at) VALUES($1,$2,$3,$4,$5)"},
    [SQL_DECISION_DROP] = {"decision_drop", "W", "t", "", "DELETE FROM decision WHERE pk=$1"},

    /* ---- tool calls: session, run, id, name, arguments, hash, place in the batch, ms ---- */
    [SQL_CALL_PUT] = {"call_put", "HW", "ttttttii", "",
                      "INSERT INTO toolcall(pk,run,id,name,arguments,hash,n,state,at) "
                      "VALUES($1,$2,$3,$4,$5,$6,$7,'PENDING',$8)"},
    [SQL_CALL_ASK] =
        {"call_ask", "W1", "ttti", "",
         "UPDATE toolcall SET state='APPROVAL_REQUIRED' "
         "WHERE pk=$1 AND run=$2 AND id=$3 "
         "AND (state IN ('PENDING','APPROVAL_REQUIRED') OR (state='EXECUTING' AND $4=1))"},
    /* the last: 1 in a run that a restart found, whose call may be repeated */
    [SQL_CALL_START] =
        {"call_start", "HW1", "tttttii", "",
         "UPDATE toolcall SET state='EXECUTING',attempt=attempt+1,hash=$4,"
         "approval=$5,started=$6 WHERE pk=$1 AND run=$2 AND id=$3 "
         "AND (state IN ('PENDING','APPROVAL_REQUIRED') OR (state='EXECUTING' AND $7=1))"},
    [SQL_CALL_END] = {"call_end", "HW1", "tttttii", "",
                      "UPDATE toolcall SET state=$4,result=$5,ms=$6,ended=$7 "
                      "WHERE pk=$1 AND run=$2 AND id=$3 AND " OPEN_CALL},
    [SQL_CALL_ABORT] = {"call_abort", "W", "tti", "",
                        "UPDATE toolcall SET state='FAILED',result='interrupted',ended=$3 "
                        "WHERE pk=$1 AND run=$2 AND " OPEN_CALL},
    [SQL_CALL_DROP] = {"call_drop", "W", "t", "", "DELETE FROM toolcall WHERE pk=$1"},

    /* ---- approvals ---- */
    [SQL_APPROVAL_PUT] = {"approval_put", "W", "ttttttii", "",
                          "INSERT INTO approval(pk,id,run,call,record,hash,state,expires,at) "
                          "VALUES($1,$2,$3,$4,$5,$6,'waiting',$7,$8)"},
    [SQL_APPROVAL_DECIDE] = {"approval_decide", "W1", "tttti", "",
                             "UPDATE approval SET state=$3,decided_by=$4,decided=$5 "
                             "WHERE pk=$1 AND id=$2 AND state='waiting'"},
    [SQL_APPROVAL_USE] = {"approval_use", "HW1", "tttii", "",
                          "UPDATE approval SET used=$4 WHERE pk=$1 AND id=$2 AND hash=$3 "
                          "AND state IN ('allow-once','allow-always') AND (used=0 OR $5=1)"},
    [SQL_APPROVAL_CANCEL] = {"approval_cancel", "W", "tti", "",
                             "UPDATE approval SET state='cancelled',decided=$3 "
                             "WHERE pk=$1 AND run=$2 AND state='waiting'"},
    [SQL_APPROVAL_DROP] = {"approval_drop", "W", "t", "", "DELETE FROM approval WHERE pk=$1"},
    [SQL_APPROVAL_OPEN] = {"approval_open", "X", "", APPROVAL_TYPES,
                           "SELECT " APPROVAL_COLUMNS " FROM approval WHERE state='waiting' "
                           "ORDER BY at"},
    [SQL_APPROVAL_PAST] = {"approval_past", "X", "", APPROVAL_TYPES "i",
                           "SELECT " APPROVAL_COLUMNS ",decided FROM approval "
                           "WHERE state<>'waiting' ORDER BY decided DESC LIMIT 1000"},

    /* ---- outbox: session, run, key, place, body, send class, ms ---- */
    [SQL_OUTBOX_PUT] = {"outbox_put", "HW", "tttitii", "",
                        "INSERT INTO outbox(pk,run,key,n,body,class,state,at) "
                        "VALUES($1,$2,$3,$4,$5,$6,'SENDING',$7) ON CONFLICT(pk,run,key) DO UPDATE "
                        "SET n=excluded.n,body=excluded.body,state='SENDING',at=excluded.at"},
    /* a draft becomes the answer by the one above; a post is stored once */
    [SQL_OUTBOX_POST] = {"outbox_post", "HW", "tttitii", "",
                         "INSERT INTO outbox(pk,run,key,n,body,class,state,at) "
                         "VALUES($1,$2,$3,$4,$5,$6,'SENDING',$7)"},
    [SQL_OUTBOX_STATE] = {"outbox_state", "HW1",
                          "tttti"
                          "t",
                          "",
                          "UPDATE outbox SET state=$4,at=$5,external=COALESCE($6,external) "
                          "WHERE pk=$1 AND run=$2 AND key=$3"},
    [SQL_OUTBOX_DROP] = {"outbox_drop", "W", "t", "", "DELETE FROM outbox WHERE pk=$1"},

    /* ---- inbound. The deduplication's partition is the conversation, not the batch's. ---- */
    [SQL_DEDUP_PUT] = {"dedup_put", "HWX", "tttiti", "",
                       "INSERT INTO dedup(pk,kind,event,version,id,at) VALUES($1,$2,$3,$4,$5,$6)"},
    [SQL_DEDUP_GET] = {"dedup_get", "", "ttti", "t",
                       "SELECT id FROM dedup WHERE pk=$1 AND kind=$2 AND event=$3 AND version=$4"},
    [SQL_DEDUP_OLD] = {"dedup_old", "X", "ii", "ttti",
                       "SELECT pk,kind,event,version FROM dedup WHERE at<$1 LIMIT $2"},
    [SQL_DEDUP_DROP] = {"dedup_drop", "WX", "ttti", "",
                        "DELETE FROM dedup WHERE pk=$1 AND kind=$2 AND event=$3 AND version=$4"},
    /* session, id, agent, conversation, channel, body, ms */
    [SQL_INBOX_PUT] = {"inbox_put", "HW", "tttttti", "",
                       "INSERT INTO inbox(pk,id,agent,conversation,channel,body,run,at) "
                       "VALUES($1,$2,$3,$4,$5,$6,'',$7)"},
    [SQL_INBOX_TAKE] = {"inbox_take", "HW1", "ttt", "",
                        "UPDATE inbox SET run=$3 WHERE pk=$1 AND id=$2 AND run=''"},
    [SQL_INBOX_DROP] = {"inbox_drop", "W", "t", "", "DELETE FROM inbox WHERE pk=$1"},
    [SQL_INBOX_OLD] = {"inbox_old", "X", "ii", "tt",
                       "SELECT pk,id FROM inbox WHERE run<>'' AND at<$1 LIMIT $2"},
    [SQL_INBOX_PURGE] = {"inbox_purge", "WX", "tt", "",
                         "DELETE FROM inbox WHERE pk=$1 AND id=$2 AND run<>''"},

    /* ---- allow-list: partition = source ---- */
    [SQL_ALLOW_PUT] = {"allow_put", "W", "ttti", "",
                       "INSERT INTO allow(pk,kind,given_by,at) VALUES($1,$2,$3,$4) "
                       "ON CONFLICT(pk,kind) DO UPDATE SET given_by=excluded.given_by,"
                       "at=excluded.at"},
    [SQL_ALLOW_DROP] = {"allow_drop", "W", "tt", "", "DELETE FROM allow WHERE pk=$1 AND kind=$2"},
    [SQL_ALLOW_LIST] = {"allow_list", "X", "", "ttti",
                        "SELECT pk,kind,given_by,at FROM allow ORDER BY pk,kind"},

    /* ---- key-value of plugins: partition = space ---- */
    [SQL_KV_PUT] = {"kv_put", "HW", "ttbi", "",
                    "INSERT INTO kv(pk,key,value,at) VALUES($1,$2,$3,$4) "
                    "ON CONFLICT(pk,key) DO UPDATE SET value=excluded.value,at=excluded.at"},
    [SQL_KV_DROP] = {"kv_drop", "W", "tt", "", "DELETE FROM kv WHERE pk=$1 AND key=$2"},
    [SQL_KV_GET] = {"kv_get", "H", "tt", "b", "SELECT value FROM kv WHERE pk=$1 AND key=$2"},
    [SQL_KV_LIST] = {"kv_list", "", "ttt", "tb",
                     "SELECT key,value FROM kv WHERE pk=$1 AND key>=$2 AND key<=$3 ORDER BY key"},

    /* ---- usage: session, day, channel, sender, provider, model, messages, answers, local,
     * unpriced messages, tokens in, out, cached, cost ---- */
    [SQL_USAGE_ADD] = {"usage_add", "HW",
                       "titttt"
                       "iiiiiiir",
                       "",
                       "INSERT INTO spent(pk,day,channel,sender,provider,model,messages,answers,"
                       "local,unpriced,tokens_in,tokens_out,tokens_cached,cost) VALUES($1,$2,$3,$4,"
                       "$5,$6,$7,$8,$9,$10,$11,$12,$13,$14) "
                       "ON CONFLICT(pk,day,channel,sender,provider,model) DO UPDATE SET "
                       "messages=spent.messages+excluded.messages,"
                       "answers=spent.answers+excluded.answers,local=excluded.local,"
                       "unpriced=spent.unpriced+excluded.unpriced,"
                       "tokens_in=spent.tokens_in+excluded.tokens_in,"
                       "tokens_out=spent.tokens_out+excluded.tokens_out,"
                       "tokens_cached=spent.tokens_cached+excluded.tokens_cached,"
                       "cost=spent.cost+excluded.cost"},
    [SQL_USAGE] = {"usage", "X", "ii",
                   "itttttii"
                   "iiiiir",
                   "SELECT day,pk,channel,sender,provider,model,messages,answers,local,unpriced,"
                   "tokens_in,tokens_out,tokens_cached,cost "
                   "FROM spent WHERE day>=$1 AND day<=$2 ORDER BY day,pk"},

    /* ---- what a crash left ---- */
    [SQL_RECOVER_INBOX] = {"recover_inbox", "X", "", "tttt",
                           "SELECT id,pk,agent,body FROM inbox WHERE run='' ORDER BY at,id"},
    [SQL_RECOVER_RUN] = {"recover_run", "X", "", "ttttit",
                         "SELECT id,pk,agent,state,plan,consumed FROM run WHERE ended=0 "
                         "ORDER BY at,id"},
    [SQL_RECOVER_CALL] = {"recover_call", "X", "",
                          "ttttt"
                          "ti",
                          "SELECT c.run,c.pk,c.id,c.name,c.arguments,c.state,c.attempt "
                          "FROM run r JOIN toolcall c ON c.pk=r.pk AND c.run=r.id "
                          "WHERE r.ended=0 AND c." OPEN_CALL " ORDER BY r.at,r.id,c.n"},
    [SQL_RECOVER_CHUNK] = {"recover_chunk", "X", "", "ttttii",
                           "SELECT run,pk,key,body,class,at FROM outbox WHERE state='SENDING' "
                           "ORDER BY at,run,n"},

    /* ---- all of a run: ms, then columns of the kind ---- */
    [SQL_TRACE_INBOX] = {"trace_inbox", "", "tt", "ittt",
                         "SELECT at,id,conversation,body FROM inbox WHERE pk=$1 AND run=$2 "
                         "ORDER BY at"},
    [SQL_TRACE_MESSAGE] = {"trace_message", "", "tti", "iitttiir",
                           "SELECT at,seq,role,body,model,tokens_in,tokens_out,cost FROM message "
                           "WHERE pk=$1 AND run=$2 AND seq>=$3 ORDER BY seq"},
    [SQL_TRACE_ATTEMPT] = {"trace_attempt", "", "tt", "iitttiiii",
                           "SELECT at,n,model,reason,outcome,ms,tokens_in,tokens_out,effects "
                           "FROM attempt WHERE pk=$1 AND run=$2 ORDER BY n"},
    [SQL_TRACE_CALL] = {"trace_call", "", "tt", "ittttttiiiit",
                        "SELECT at,id,name,arguments,hash,state,result,attempt,started,ended,ms,"
                        "approval FROM toolcall WHERE pk=$1 AND run=$2 ORDER BY at,n"},
    [SQL_TRACE_APPROVAL] = {"trace_approval", "", "tt", "ittttittii",
                            "SELECT at,id,call,record,hash,expires,state,decided_by,decided,used "
                            "FROM approval WHERE pk=$1 AND run=$2 ORDER BY at"},
    [SQL_TRACE_DECISION] = {"trace_decision", "", "tt", "it",
                            "SELECT at,body FROM decision WHERE pk=$1 AND run=$2 ORDER BY n"},
    [SQL_TRACE_CHUNK] = {"trace_chunk", "", "tt", "iittitt",
                         "SELECT at,n,key,body,class,state,external FROM outbox "
                         "WHERE pk=$1 AND run=$2 ORDER BY n"},

    /* ---- upkeep: the full-text index is written behind, with a cursor of its own ---- */
    [SQL_CURSOR_PUT] = {"cursor_put", "HW", "ttii", "",
                        "INSERT INTO cursor(pk,name,position,at) VALUES($1,$2,$3,$4) "
                        "ON CONFLICT(pk,name) DO UPDATE SET position=excluded.position,"
                        "at=excluded.at"},
    [SQL_CURSOR_GET] = {"cursor_get", "", "tt", "i",
                        "SELECT position FROM cursor WHERE pk=$1 AND name=$2"},
    [SQL_INDEX_NEXT] = {"index_next", "X", "ii", "itittit",
                        "SELECT n,pk,seq,role,body,at,run FROM message WHERE n>$1 ORDER BY n "
                        "LIMIT $2"},
    [SQL_FOUND_PUT] = {"found_put", "WX", "ititit", "",
                       "INSERT INTO found(n,pk,seq,role,at,text) VALUES($1,$2,$3,$4,$5,$6)"},
    [SQL_FOUND_WORDS] = {"found_words", "WX", "it", "",
                         "INSERT INTO found_words(rowid,text) VALUES($1,$2)"},
    [SQL_FOUND_DROP] = {"found_drop", "W", "t", "", "DELETE FROM found WHERE pk=$1"},
    [SQL_SEARCH] = {"search", "X", "si", "titti",
                    "SELECT f.pk,f.seq,f.role,snippet(found_words,0,'','','\xe2\x80\xa6',24),f.at "
                    "FROM found_words JOIN found f ON f.n=found_words.rowid "
                    "WHERE found_words MATCH $1 ORDER BY rank LIMIT $2"},
    /* job, slot in ms, now: a slot that is taken conflicts */
    [SQL_CRON_PUT] = {"cron_put", "W", "tii", "",
                      "INSERT INTO cronslot(pk,slot,at) VALUES($1,$2,$3)"},

    /* ---- plugins' documents: space, document, part, the document's time, text ---- */
    [SQL_NOTE_PUT] = {"note_put", "W", "tttit", "",
                      "INSERT INTO note(pk,doc,part,at,text) VALUES($1,$2,$3,$4,$5)"},
    [SQL_NOTE_WORDS] = {"note_words", "WX", "tt", "",
                        "INSERT INTO note_words(rowid,text) SELECT n,text FROM note "
                        "WHERE pk=$1 AND doc=$2"},
    [SQL_NOTE_DROP] = {"note_drop", "W", "tt", "", "DELETE FROM note WHERE pk=$1 AND doc=$2"},
    [SQL_NOTE_SEARCH] = {"note_search", "", "tsi", NOTE_TYPES, NOTE_SEARCH},
    [SQL_NOTE_SEARCH_ANY] = {"note_search_any", "", "tai", NOTE_TYPES, NOTE_SEARCH},
};
