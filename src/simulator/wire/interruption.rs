//! Owns what ends or slows a running request: attentions, pauses, cuts.

use crate::simulator::wire::answer::{Answer, Scope};
use crate::simulator::wire::connection::{Connection, Flow};
use crate::simulator::wire::error::ConnectionError;
use crate::simulator::wire::packet::{ClientMessage, MessageKind, PacketError};
use std::time::Duration;
use tokio::io::AsyncWrite;
use tokio::sync::mpsc::error::TryRecvError;

impl<'a, S: AsyncWrite + Unpin> Connection<'a, S> {
    /// Sends the first half of what is answered without a row, and nothing more.
    pub(super) async fn close_in_answer(&mut self, answer: &mut Answer<'a>) -> ConnectionError {
        let whole = std::mem::replace(answer, Answer::new(Scope::Batch, &self.endpoint.server_name));
        whole.end(self.writer.body(), None, false);
        let half = self.writer.body().len() / 2;
        self.writer.body().truncate(half);
        self.close_unfinished().await
    }

    /// Sends what is answered so far; the message has no end.
    pub(super) async fn close_unfinished(&mut self) -> ConnectionError {
        self.writer.send_unfinished().await.map_or_else(ConnectionError::Io, |()| ConnectionError::EndedByServer)
    }

    /// Ends the message and sends what is left of it a little at a time. An attention has the rest sent at once.
    pub(super) async fn end_message_slowly(&mut self, bytes_per_second: u32) -> Result<Flow, ConnectionError> {
        const PAUSES_PER_SECOND: u32 = 20;
        let pauses = bytes_per_second.clamp(1, PAUSES_PER_SECOND);
        let each = (bytes_per_second / pauses).max(1) as usize;
        self.writer.gather(false);
        self.writer.frame_message();
        while self.writer.send_framed(each).await? {
            if self.wait(Duration::from_secs(1) / pauses).await? == Flow::Cancelled {
                self.writer.send_framed(usize::MAX).await?;
                return Ok(Flow::Cancelled);
            }
        }
        Ok(Flow::GoesOn)
    }

    /// Waits that long, or until an attention.
    pub(super) async fn wait(&mut self, duration: Duration) -> Result<Flow, ConnectionError> {
        let over = tokio::time::sleep(duration);
        tokio::pin!(over);
        loop {
            let message = tokio::select! {
                () = &mut over => return Ok(Flow::GoesOn),
                message = self.incoming.recv() => message,
            };
            if self.take_interruption(message)? == Flow::Cancelled {
                return Ok(Flow::Cancelled);
            }
        }
    }

    /// Whether an attention has come.
    pub(super) fn look_for_attention(&mut self) -> Result<Flow, ConnectionError> {
        match self.incoming.try_recv() {
            Ok(message) => self.take_interruption(Some(message)),
            Err(TryRecvError::Empty) => Ok(Flow::GoesOn),
            Err(TryRecvError::Disconnected) => self.take_interruption(None),
        }
    }

    /// What arrives while a request runs: an attention, one request more, or the end of the connection.
    fn take_interruption(
        &mut self,
        message: Option<Result<ClientMessage, PacketError>>,
    ) -> Result<Flow, ConnectionError> {
        let message = message.ok_or(ConnectionError::ClosedByClient)??;
        match message.kind {
            MessageKind::Attention => Ok(Flow::Cancelled),
            _ if self.queued.is_none() => {
                self.queued = Some(message);
                Ok(Flow::GoesOn)
            }
            other => Err(ConnectionError::Unexpected(other)),
        }
    }
}
