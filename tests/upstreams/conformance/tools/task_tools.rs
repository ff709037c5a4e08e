//! The tools of the tasks extension. All but `greet` run as a task if the client declared the
//! extension.

use std::time::Duration;

use rmcp::{
    ErrorData,
    model::{
        CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, CreateTaskResult,
        InputRequest, Tool,
    },
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{MOMENT, input_tools, text_result, tool};
use crate::client_input::{Call, ClientInput, form_request};

pub(crate) fn list() -> Vec<Tool> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let seconds = json!({"type": "number", "description": "How long it takes"});
    vec![
        tool(
            "greet",
            "Greets, never in a task",
            json!({"name": text("Whom")}),
        ),
        tool(
            "slow_compute",
            "Takes its time",
            json!({"seconds": seconds, "label": text("The name of the task")}),
        ),
        tool(
            "failing_job",
            "Fails after a moment, only in a task",
            json!({}),
        ),
        tool(
            "protocol_error_job",
            "Ends in an error of the protocol",
            json!({}),
        ),
        tool(
            "confirm_delete",
            "Asks a person in a task",
            json!({"filename": text("The file to delete")}),
        ),
        tool(
            "multi_input",
            "Asks a person two things in a task",
            json!({}),
        ),
        tool(
            "test_tool_with_task",
            "Asks a person, then works in a task",
            json!({}),
        ),
    ]
}

pub(crate) async fn call(
    tasks: &TaskManager,
    name: &str,
    call: &Call<'_>,
) -> Result<CallToolResponse, ErrorData> {
    let in_task = call
        .context
        .client_capabilities()
        .is_some_and(|client| client.supports_tasks());
    let argument = |name: &str| call.arguments[name].as_str().unwrap_or_default().to_owned();
    match name {
        "greet" => text_result(&format!("Hello, {}!", argument("name"))),
        "slow_compute" => {
            let time =
                Duration::try_from_secs_f64(call.arguments["seconds"].as_f64().unwrap_or_default());
            let time =
                time.map_err(|error| ErrorData::invalid_params(format!("seconds: {error}"), None))?;
            let result_text = format!("{} is computed.", argument("label"));
            if in_task {
                Ok(start_task(tasks, move |task| {
                    compute(task, time, result_text)
                }))
            } else {
                wait_without_task(time, &result_text).await
            }
        }
        "failing_job" if !in_task => {
            let required = ClientCapabilities::builder().enable_tasks().build();
            Err(ErrorData::missing_required_client_capability(required))
        }
        "failing_job" => Ok(start_task(tasks, |_| fail_task())),
        "protocol_error_job" if in_task => Ok(start_task(tasks, |_| async {
            Err(TaskExit::Error(task_error()))
        })),
        "protocol_error_job" => Err(task_error()),
        "confirm_delete" => {
            let file = argument("filename");
            confirm(
                tasks,
                call,
                in_task,
                vec![("confirm", confirmation_form(&format!("Delete {file}?"))?)],
            )
            .await
        }
        "multi_input" => {
            let questions = vec![
                ("first", confirmation_form("First?")?),
                ("second", confirmation_form("Second?")?),
            ];
            confirm(tasks, call, in_task, questions).await
        }
        "test_tool_with_task" => greet_in_task(tasks, call, in_task).await,
        other => Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
    }
}

/// Starts a task with a short poll interval.
fn start_task<F>(tasks: &TaskManager, work: impl FnOnce(TaskContext) -> F) -> CallToolResponse
where
    F: Future<Output = Result<CallToolResult, TaskExit>> + Send + 'static,
{
    let options = TaskOptions::new().with_poll_interval_ms(100);
    CreateTaskResult::new(tasks.spawn(options, |task| Box::pin(work(task)))).into()
}

fn text(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// Waits without a task, for one second at most, because the client waits for the result.
async fn wait_without_task(
    time: Duration,
    result_text: &str,
) -> Result<CallToolResponse, ErrorData> {
    sleep(time.min(Duration::from_secs(1))).await;
    text_result(result_text)
}

async fn compute(
    task: TaskContext,
    time: Duration,
    result_text: String,
) -> Result<CallToolResult, TaskExit> {
    tokio::select! {
        () = sleep(time) => Ok(text(&result_text)),
        () = task.cancelled() => Err(TaskExit::Cancelled),
    }
}

async fn fail_task() -> Result<CallToolResult, TaskExit> {
    sleep(MOMENT).await;
    Ok(CallToolResult::error(vec![ContentBlock::text(
        "This job intentionally fails for testing",
    )]))
}

fn task_error() -> ErrorData {
    ErrorData::internal_error("This job intentionally breaks for testing", None)
}

fn confirmation_form(message: &str) -> Result<InputRequest, ErrorData> {
    form_request(
        message,
        json!({"confirm": {"type": "boolean"}}),
        &["confirm"],
    )
}

/// Requests all inputs at once: through the task, or without a task, like any other tool.
async fn confirm(
    tasks: &TaskManager,
    call: &Call<'_>,
    in_task: bool,
    questions: Vec<(&'static str, InputRequest)>,
) -> Result<CallToolResponse, ErrorData> {
    if in_task {
        return Ok(start_task(tasks, |task| confirm_in_task(task, questions)));
    }
    let questions = questions
        .into_iter()
        .map(|(key, question)| (key.to_owned(), question));
    input_tools::answer(
        call.request_input(questions.collect(), None).await?,
        |answers| json!(answers).to_string(),
    )
}

async fn confirm_in_task(
    task: TaskContext,
    questions: Vec<(&'static str, InputRequest)>,
) -> Result<CallToolResult, TaskExit> {
    let requests = questions.into_iter().map(|(key, question)| {
        let task = task.clone();
        tokio::spawn(async move { task.request_input(key, question).await })
    });
    let mut answers: Vec<Value> = vec![];
    for answer in requests.collect::<Vec<_>>() {
        answers.push(
            answer
                .await
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))??,
        );
    }
    Ok(text(&json!(answers).to_string()))
}

/// Requests the name before the task is created.
async fn greet_in_task(
    tasks: &TaskManager,
    call: &Call<'_>,
    in_task: bool,
) -> Result<CallToolResponse, ErrorData> {
    let question = input_tools::name_form("What is your name?")?;
    let greeting = match call
        .request_input([("user_name".to_owned(), question)].into(), None)
        .await?
    {
        ClientInput::Answered(answers) => {
            format!("Hello, {}!", input_tools::read_name(&answers["user_name"]))
        }
        ClientInput::Required(required) => return Ok(required.into()),
    };
    if in_task {
        Ok(start_task(tasks, |task| compute(task, MOMENT, greeting)))
    } else {
        text_result(&greeting)
    }
}
