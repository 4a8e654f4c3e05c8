//! Owns a batch as a flat list of instructions with jumps, so that it can stop between any two of them.

use crate::simulator::sql::ast::{Condition, Declaration, Statement, StatementKind};

/// One step of a batch.
#[derive(Debug)]
pub(super) struct Instruction {
    pub(super) line: u32,
    pub(super) action: Action,
    /// Where the CATCH block of the TRY around it starts.
    pub(super) handler: Option<usize>,
    /// CATCH blocks around it.
    pub(super) catch_depth: usize,
}

#[derive(Debug)]
pub(super) enum Action {
    Run(StatementKind),
    Jump(usize),
    /// Goes to the target unless the condition is true.
    JumpUnless(Condition, usize),
}

/// Flattens a batch.
pub(super) fn compile(statements: Vec<Statement>) -> Vec<Instruction> {
    let mut compiler = Compiler::default();
    compiler.statements(statements);
    compiler.instructions
}

/// The variables a batch declares anywhere: they exist from its start, whether or not DECLARE is ever reached.
pub(super) fn declarations(program: &[Instruction]) -> impl Iterator<Item = &Declaration> {
    let statements = program.iter().filter_map(|instruction| match &instruction.action {
        Action::Run(StatementKind::Declare(declarations)) => Some(declarations),
        _ => None,
    });
    statements.flatten()
}

/// Stands for a CATCH block that is not compiled yet.
const UNRESOLVED: usize = usize::MAX;

#[derive(Default)]
struct Compiler {
    instructions: Vec<Instruction>,
    /// The handler around the TRY block being compiled; its own is filled in when its CATCH is reached.
    handler: Option<usize>,
    catch_depth: usize,
    loops: Vec<Loop>,
}

struct Loop {
    start: usize,
    breaks: Vec<usize>,
}

impl Compiler {
    fn statements(&mut self, statements: Vec<Statement>) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn emit(&mut self, line: u32, action: Action) -> usize {
        let handler = self.handler;
        self.instructions.push(Instruction { line, action, handler, catch_depth: self.catch_depth });
        self.instructions.len() - 1
    }

    fn here(&self) -> usize {
        self.instructions.len()
    }

    fn set_target(&mut self, at: usize, to: usize) {
        let action = self.instructions.get_mut(at).map(|instruction| &mut instruction.action);
        if let Some(Action::Jump(target) | Action::JumpUnless(_, target)) = action {
            *target = to;
        }
    }

    fn statement(&mut self, statement: Statement) {
        let line = statement.line;
        match statement.kind {
            StatementKind::Block(statements) => self.statements(statements),
            StatementKind::If { condition, then, otherwise } => {
                let test = self.emit(line, Action::JumpUnless(condition, 0));
                self.statement(*then);
                if let Some(otherwise) = otherwise {
                    let skip = self.emit(line, Action::Jump(0));
                    let here = self.here();
                    self.set_target(test, here);
                    self.statement(*otherwise);
                    let here = self.here();
                    self.set_target(skip, here);
                } else {
                    let here = self.here();
                    self.set_target(test, here);
                }
            }
            StatementKind::While { condition, body } => {
                let start = self.emit(line, Action::JumpUnless(condition, 0));
                self.loops.push(Loop { start, breaks: Vec::new() });
                self.statement(*body);
                self.emit(line, Action::Jump(start));
                let here = self.here();
                self.set_target(start, here);
                for jump in self.loops.pop().map(|ended| ended.breaks).unwrap_or_default() {
                    self.set_target(jump, here);
                }
            }
            StatementKind::Break => {
                let jump = self.emit(line, Action::Jump(0));
                if let Some(current) = self.loops.last_mut() {
                    current.breaks.push(jump);
                }
            }
            StatementKind::Continue => {
                let start = self.loops.last().map_or(0, |current| current.start);
                self.emit(line, Action::Jump(start));
            }
            StatementKind::Try { body, handler } => {
                let from = self.here();
                let around = self.handler.replace(UNRESOLVED);
                self.statements(body);
                self.handler = around;
                let skip = self.emit(line, Action::Jump(0));
                let catch = self.here();
                for instruction in self.instructions.iter_mut().skip(from) {
                    if instruction.handler == Some(UNRESOLVED) {
                        instruction.handler = Some(catch);
                    }
                }
                self.catch_depth += 1;
                self.statements(handler);
                self.catch_depth -= 1;
                let here = self.here();
                self.set_target(skip, here);
            }
            kind => {
                self.emit(line, Action::Run(kind));
            }
        }
    }
}
