// Build elements without markup: names from a profile are only ever text.

export function make(tag, ...children) {
  const element = document.createElement(tag);
  element.append(...children);
  return element;
}
